"""The documents: links lead somewhere, and files and modules that they name exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    path.relative_to(ROOT)
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md"))
)

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_PATH = re.compile(r"`((?:core|tui|tests|benchmarks|docs|scripts|deploy)/[\w./-]*)`")
_MODULE = re.compile(r"`((?:core|tui)(?:\.\w+)+)`")


def _anchors(page: Path) -> set[str]:
    """What GitHub makes of each heading: lower case, no punctuation, a dash for each blank."""
    headings = _HEADING.findall(page.read_text())
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _broken_link(page: Path, link: str) -> str:
    """What is wrong with `link`; "" where it leads somewhere."""
    if "://" in link:
        return ""
    name, _, anchor = link.partition("#")
    target = (page.parent / name) if name else page
    if not target.exists():
        return f"{link}: no such file"
    if anchor and anchor not in _anchors(target):
        return f"{link}: no such heading"
    return ""


def _is_module(name: str) -> bool:
    """Whether `name` is a module or package, or the last part is defined in one."""
    path = ROOT / name.replace(".", "/")
    if path.is_dir() or path.with_suffix(".py").is_file():
        return True
    homes = (path.parent.with_suffix(".py"), path.parent / "__init__.py")
    return any(home.is_file() and re.search(rf"\b{path.name}\b", home.read_text()) for home in homes)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = (ROOT / page).read_text()

    broken = [problem for link in _LINK.findall(text) if (problem := _broken_link(ROOT / page, link))]

    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_files_and_modules_that_are_named_exist(page: Path) -> None:
    text = (ROOT / page).read_text()
    here = (ROOT, ROOT / page.parent)

    missing = [name for name in _PATH.findall(text) if not any((base / name).exists() for base in here)]
    missing += [name for name in _MODULE.findall(text) if not _is_module(name)]

    assert missing == []
