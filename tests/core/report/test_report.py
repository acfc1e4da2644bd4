"""The report: what it says agrees with the recording, and the page stands alone."""

import re
import shutil
import subprocess
import sys
from base64 import b64decode
from html.parser import HTMLParser
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from idlegap.core.protocol.events import (
    AnyEvent,
    Bandwidth,
    EngineFailed,
    EngineStage,
    Exclusion,
    GpuSample,
    ModeEntered,
    Neighbours,
    ProfileWindow,
    Token,
    TokenBatch,
    Verified,
)
from idlegap.core.protocol.modes import ModeName
from idlegap.core.recording import RecordingError
from idlegap.core.report import report_page
from idlegap.core.report.charts import strip_points
from idlegap.core.report.conclusion import conclusion
from idlegap.core.report.gather import gather
from idlegap.core.report.tables import remarks
from tests.core.recording.stories import GPU, HOST, MS, READY, REAL, SECOND, START_NS, record, story
from tests.paths import ROOT

pytest.importorskip("matplotlib")


class Page(HTMLParser):
    """The text of a page, and whatever in it could load or run something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = ""
        self.tags: list[str] = []
        self.sources: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.sources += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "action")]

    def handle_data(self, data: str) -> None:
        self.text += data


def report_on(tmp_path: Path, events: list[AnyEvent]) -> Page:
    (tmp_path / "report.html").write_bytes(report_page(record(tmp_path / "reported.jsonl", events)))
    return Page((tmp_path / "report.html").read_text())


def batch(t_ns: int, mode: ModeName, wall_ms: float, count: int, first: int = 0) -> TokenBatch:
    wall_ns = round(wall_ms * MS)
    tokens = tuple(
        Token(t_ns + i * wall_ns, t_ns + (i + 1) * wall_ns - 1000, t_ns + (i + 1) * wall_ns, wall_ns, 0, 0, 0)
        for i in range(count)
    )
    return TokenBatch(tokens[-1].done_ns, mode, 1, first, tokens)


def window(mode: ModeName, busy_ms: float) -> ProfileWindow:
    return ProfileWindow(START_NS + 3 * SECOND, mode, 4, True, busy_ns=round(busy_ms * MS), kernels=1429)


@pytest.fixture(scope="module")
def real_page() -> bytes:
    """The report on `REAL`; it takes a second to make."""
    return report_page(REAL)


def test_a_real_run_is_told_with_its_own_figures(real_page: bytes) -> None:
    page = Page(real_page.decode())

    for told in (
        "idlegap: NVIDIA H200",
        "In eager-static a token takes 32.2 ms: the GPU works for 3.59 ms of it",
        "Submitted as one CUDA graph, the same work takes 4.55 ms",
        "7.07x as fast",
        "The fastest mode here is fused-graph: 2.61 ms a token, 382.6 tokens/s, 12.3x as fast",
        "Reading the weights once takes 0.72 ms at the measured 4,272 GB/s, 28 %",
        "251 of 255",
        "within eager's own noise",
    ):
        assert told in page.text
    assert page.sources
    assert all(source.startswith("data:image/svg+xml;base64,") for source in page.sources)


def test_the_page_needs_nothing_and_does_nothing(tmp_path: Path) -> None:
    page = report_on(tmp_path, story())
    text = (tmp_path / "report.html").read_text()

    assert not {"script", "iframe", "link", "object", "form", "a"} & set(page.tags)
    assert not re.search(r"https?://|@import|url\(", text)
    assert "default-src 'none'" in text
    for source in page.sources:
        svg = b64decode(source.split(",", 1)[1])
        assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"


def test_text_from_the_recording_is_only_text(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>{{ 7*7 }}<img src=x onerror=y>"
    events: list[AnyEvent] = [
        msgspec.structs.replace(HOST, cpu_model=hostile, kernel=hostile),
        msgspec.structs.replace(GPU, name=hostile, driver=hostile),
        msgspec.structs.replace(READY, model=hostile, shape=hostile, torch=hostile, t_ns=START_NS),
        batch(START_NS, "graph", 4, 40),
        GpuSample(START_NS + SECOND, missing={"util_pct": hostile}),
        ProfileWindow(START_NS + SECOND, "graph", 4, False, hostile),
        EngineFailed(START_NS + 2 * SECOND, hostile),
    ]
    page = report_on(tmp_path, events)

    assert "script" not in page.tags
    assert page.tags.count("img") == len(page.sources)
    assert all(source.startswith("data:") for source in page.sources)
    assert page.text.count(hostile) >= 7


def test_the_same_recording_gives_the_same_page(real_page: bytes) -> None:
    assert report_page(REAL) == real_page


def test_slow_tokens_are_listed_with_their_causes(tmp_path: Path) -> None:
    facts = gather(record(tmp_path / "run.jsonl", story(rounds=4)))
    page = report_on(tmp_path, story(rounds=4))

    assert [(token.mode, token.round, token.index) for token in facts.slow] == [
        ("eager-static", 1, 60),
        ("graph", 2, 60),
        ("eager-static", 3, 60),
        ("graph", 4, 60),
    ]
    assert "4 tokens took much longer than usual" in page.text
    assert "2/60" in page.text
    assert all(token.largest.evidence in page.text for token in facts.slow)


def test_visits_at_different_speeds_of_the_host_are_told_apart(tmp_path: Path) -> None:
    ready = msgspec.structs.replace(READY, t_ns=START_NS)
    wide = msgspec.structs.replace(ready, batch=8)
    starts = [START_NS + 10 * i * SECOND for i in range(12)]

    def told(walls_ms: list[float]) -> list[str]:
        events: list[AnyEvent] = [ready, window("eager-static", 3.6)]
        for t_ns, wall_ms in zip(starts, walls_ms, strict=False):
            events += [ModeEntered(t_ns, "eager-static"), batch(t_ns, "eager-static", wall_ms, 40)]
        events += [msgspec.structs.replace(wide, t_ns=starts[-1]), batch(starts[-1], "eager-static", 99, 35)]
        path = record(tmp_path / f"{len(walls_ms)} of {walls_ms[0]}.jsonl", events)
        return [text for text in remarks(gather(path)) if "changed speed" in text]

    assert told([23.5, 24.4]) == []
    (changed,) = told([44.6, 23.5])
    assert "eager-static took 44.6 ms at 0 s, 23.5 ms at 10 s." in changed
    (many,) = told([44.6, *[23.5] * 9])
    assert many.count(" ms at ") == 8
    assert "and 2 visits more" in many


def test_setups_are_never_pooled(tmp_path: Path) -> None:
    ready = msgspec.structs.replace(READY, t_ns=START_NS)
    wide = msgspec.structs.replace(ready, batch=8)
    restarted = msgspec.structs.replace(ready, pid=9, tid=10)
    events = [
        ready,
        batch(START_NS, "graph", 4, 20),
        wide,
        batch(START_NS + SECOND, "graph", 40, 30),
        restarted,
        batch(START_NS + 3 * SECOND, "graph", 4, 20),
    ]
    facts = gather(record(tmp_path / "run.jsonl", events))
    page = report_on(tmp_path, events)

    [graph] = facts.modes
    assert (graph.took.tokens, graph.wall_ns) == (40, 4 * MS)
    assert "Not shown: 30 tokens of another setup (batch 8, prompt 512, synthetic:qwen2.5-1.5b)" in page.text


def test_neighbours_of_our_own_are_a_table_and_enter_no_other_figure(tmp_path: Path) -> None:
    events = [
        batch(START_NS, "graph", 4, 40),
        Neighbours(START_NS + SECOND, 2),
        batch(START_NS + SECOND, "graph", 9, 30),
        Neighbours(START_NS + 2 * SECOND, 0),
        batch(START_NS + 2 * SECOND, "graph", 4, 10),
    ]
    facts = gather(record(tmp_path / "run.jsonl", events))

    assert [(dose.neighbours, dose.took.tokens, dose.took.wall_ns) for dose in facts.doses] == [
        (0, 50, 4 * MS),
        (2, 30, 9 * MS),
    ]
    assert [(mode.took.tokens, mode.wall_ns) for mode in facts.modes] == [(50, 4 * MS)]
    assert "Dose and response" in report_on(tmp_path, events).text


def test_meters_leave_out_what_may_tell_of_the_mode_before(tmp_path: Path) -> None:
    facts = gather(REAL)
    times = {mode: [sample.t_ns for sample in samples] for mode, samples in facts.samples.items()}

    assert len(times["eager-static"]) == 3
    assert "eager" not in times


def test_meters_leave_out_tokens_at_new_cache_lengths(tmp_path: Path) -> None:
    def second(number: int, excluded: Exclusion | None) -> list[AnyEvent]:
        start_ns = START_NS + number * SECOND
        tokens = batch(start_ns, "eager", 20, 50)
        sample = GpuSample(start_ns + SECOND, util_pct=5.0 if excluded else 17.0)
        return [msgspec.structs.replace(tokens, excluded=excluded), sample]

    entered: list[AnyEvent] = [READY, ModeEntered(START_NS, "eager"), EngineStage(START_NS, "decoding")]
    rounds = [event for n in range(6) for event in second(n, "new-length" if n < 3 else None)]
    facts = gather(record(tmp_path / "run.jsonl", [*entered, *rounds]))
    kept = {sample.util_pct for sample in facts.samples["eager"]}
    assert kept == {17.0}


@pytest.mark.parametrize(
    ("events", "told"),
    [
        ([], ["No token was counted in this recording."]),
        (
            [msgspec.structs.replace(READY, device="cpu"), batch(START_NS, "eager", 7, 40)],
            ["There was no GPU: the CPU took 7.00 ms a token in eager."],
        ),
        (
            [batch(START_NS, "graph", 4, 40), window("graph", 3)],
            [
                "In graph a token takes 4.00 ms: the GPU works for 3.00 ms of it and idles for 1.00 ms "
                "(25 %), 1.00 ms of that because the host is late. Host and GPU both limit."
            ],
        ),
        (
            [batch(START_NS, "eager-static", 4, 40), batch(START_NS + SECOND, "graph", 4, 40)],
            [
                "In eager-static a token takes 4.00 ms; what the GPU did meanwhile was not measured "
                "(no profile window was taken).",
                "Submitting it as one CUDA graph changes little: 4.00 ms.",
                "The fastest mode here is eager-static: 4.00 ms a token, 250.0 tokens/s.",
            ],
        ),
    ],
)
def test_the_verdict_claims_only_what_was_measured(
    tmp_path: Path, events: list[AnyEvent], told: list[str]
) -> None:
    assert conclusion(gather(record(tmp_path / "run.jsonl", events))) == told


def test_a_decode_thread_that_waits_for_its_core_is_named(tmp_path: Path) -> None:
    token = Token(START_NS, START_NS + 9 * MS, START_NS + 10 * MS, 5 * MS, 4 * MS, 3, 0)
    events = [TokenBatch(START_NS + 10 * MS, "eager", 1, 0, (token,))]

    told = conclusion(gather(record(tmp_path / "run.jsonl", events)))

    assert told[-1] == (
        "The decode thread waited for a CPU for 40 % of a token in eager: other work had its core."
    )


def test_an_empty_recording_has_a_page_too(tmp_path: Path) -> None:
    page = report_on(tmp_path, [])

    assert "No token was counted" in page.text
    assert page.sources == []


def test_remarks_warn_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(REAL.read_bytes()[:60_000])
    (tmp_path / "report.html").write_bytes(report_page(path))
    page = Page((tmp_path / "report.html").read_text())

    assert "The recording was cut off: its last whole line is" in page.text
    assert "Tokens that do not count: " in page.text


def test_the_strip_covers_every_token_and_spans_no_switch() -> None:
    setup = gather(REAL).setup
    points = strip_points(setup.log, buckets=50)

    assert points[-1].end_s == pytest.approx(sum(setup.log.walls_ns) / 1e9)
    assert all(a.end_s == b.begin_s for a, b in pairwise(points))
    assert all(p.low_ms <= p.middle_ms <= p.high_ms <= p.most_ms for p in points)
    assert len(points) < 50 + 21


def test_a_flagged_mode_is_told(tmp_path: Path) -> None:
    events = [
        batch(START_NS, "graph", 4, 40),
        Bandwidth(START_NS, 4e12, None),
        Verified(START_NS + 1, "graph", 255, 200, 1.5, 255, 0.01, True),
    ]
    assert "differs by more than ten times that" in report_on(tmp_path, events).text


def test_what_is_no_recording_is_told(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("garbage\n")
    with pytest.raises(RecordingError, match="line 1: not an idlegap recording"):
        report_page(tmp_path / "bad.jsonl")


def test_without_matplotlib_the_message_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from pathlib import Path; from idlegap.core.report import ReportError, report_page\n"
        "try: report_page(Path(sys.argv[1]))\n"
        "except ReportError as error: print(error)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, str(REAL)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert result.stdout == "a report needs matplotlib: pip install 'idlegap[report]'\n"


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_chromium_draws_the_page(tmp_path: Path, real_page: bytes) -> None:
    from PIL import Image

    (tmp_path / "report.html").write_bytes(real_page)
    subprocess.run(
        [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--hide-scrollbars",
            "--window-size=1000,2400",
            f"--screenshot={tmp_path / 'page.png'}",
            (tmp_path / "report.html").as_uri(),
        ],
        check=True,
        capture_output=True,
        timeout=100,
    )
    with Image.open(BytesIO((tmp_path / "page.png").read_bytes())) as image:
        colours = {colour: count for count, colour in image.convert("RGB").getcolors(1 << 24)}

    assert image.size == (1000, 2400)
    # The bars' colours: the charts were drawn, not only the text.
    for part in ((0x00, 0x72, 0xB2), (0x56, 0xB4, 0xE9), (0xD5, 0x5E, 0x00)):
        assert colours.get(part, 0) > 500
