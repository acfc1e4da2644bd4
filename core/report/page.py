"""Puts the facts, tables and charts of a recording into one HTML page."""

from base64 import b64encode

from jinja2 import Environment, PackageLoader, StrictUndefined

from idlegap.core.protocol.modes import MODES
from idlegap.core.report import charts, tables
from idlegap.core.report.conclusion import conclusion
from idlegap.core.report.gather import Report
from idlegap.core.text.reasons import words


def render(facts: Report) -> str:
    """The whole page. Everything that came from the recording is escaped; charts are images
    within the page, so that nothing in them can act."""
    # Tags of the template must not leave blank lines behind.
    environment = Environment(
        loader=PackageLoader("idlegap.core.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    bound_ns = facts.ceiling.bound_ns if facts.ceiling is not None else None
    points = charts.strip_points(facts.setup.log) if facts.setup.log is not None else []
    totals = tables.cause_totals(facts.slow)
    return environment.get_template("page.html").render(
        facts=facts,
        title=_title(facts),
        conclusion=conclusion(facts),
        remarks=tables.remarks(facts),
        machine=tables.machine(facts),
        modes=tables.modes(facts),
        catalogue=[spec for spec in MODES if facts.mode(spec.name) is not None],
        meters=tables.meters(facts),
        verified=tables.verified(facts),
        doses=tables.dose_response(facts),
        slowest=tables.slowest(facts),
        strip=_image(charts.strip(points, facts.modes, bound_ns)) if points else "",
        bars=_image(charts.bars(facts.modes)) if facts.modes else "",
        causes=_image(charts.causes(totals)) if totals else "",
        words=words,
    )


def _title(facts: Report) -> str:
    engine = facts.setup.engine
    device = facts.gpu.name if facts.gpu is not None and facts.gpu.name else None
    if device is None and engine is not None:
        device = engine.device_name
    return f"idlegap: {device or facts.header.host}"


def _image(svg: bytes) -> str:
    return "data:image/svg+xml;base64," + b64encode(svg).decode("ascii")
