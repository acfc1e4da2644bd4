"""Pictures: new names, nothing from the network."""

from pathlib import Path

import pytest

from idlegap.tui.apps.svg_file import save_svg

SVG = """<svg><style>
    @font-face { font-family: "Fira Code"; src: url("https://cdnjs.example/FiraCode.woff2"); }
    @font-face {
        font-family: "Fira Code";
        src: url("https://cdnjs.example/bold.woff2");
    }
    .line { fill: #fff }
</style><text>µ 88 %</text></svg>"""


def test_web_fonts_go_and_everything_else_stays(tmp_path: Path) -> None:
    text = save_svg(SVG, tmp_path, "graph").read_text(encoding="utf-8")
    assert "http" not in text
    assert ".line { fill: #fff }" in text
    assert "µ 88 %" in text


def test_an_older_picture_is_never_overwritten(tmp_path: Path) -> None:
    paths = [save_svg(f"<svg>{i}</svg>", tmp_path, "graph") for i in range(4)]
    assert len(set(paths)) == 4
    assert [path.read_text() for path in paths] == [f"<svg>{i}</svg>" for i in range(4)]
    assert all(path.name.startswith("idlegap-graph-") and path.suffix == ".svg" for path in paths)


def test_a_folder_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        save_svg(SVG, tmp_path / "absent", "graph")
