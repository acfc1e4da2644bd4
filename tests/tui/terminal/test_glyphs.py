"""The glyph ladder: chosen from locale and TERM, and nothing above its level gets through."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idlegap.tui.terminal.glyphs import GlyphLevel, glyph_level
from tests.paths import ROOT


@pytest.mark.parametrize(
    ("encoding", "term", "level"),
    [
        ("UTF-8", "xterm-256color", GlyphLevel.BRAILLE),
        ("utf8", "tmux", GlyphLevel.BRAILLE),
        ("UTF-8", "linux", GlyphLevel.BLOCKS),
        ("ANSI_X3.4-1968", "xterm-256color", GlyphLevel.ASCII),
        ("ISO-8859-1", "linux", GlyphLevel.ASCII),
    ],
)
def test_level_follows_locale_and_terminal(encoding: str, term: str, level: GlyphLevel) -> None:
    assert glyph_level(encoding, term) is level


@given(st.text())
def test_ascii_is_ascii_and_of_equal_length(text: str) -> None:
    lowered = GlyphLevel.ASCII.text(text)
    assert lowered.isascii()
    assert len(lowered) == len(text)


@given(st.text(alphabet="▸►⇄┊╌…✓×—–−’µ°·█▓▒░▲┤┼┴─│→↑↓a1 "))
def test_a_console_font_can_draw_every_glyph_of_ours(text: str) -> None:
    lowered = GlyphLevel.BLOCKS.text(text)
    assert len(lowered) == len(text)
    assert "?" not in lowered
    drawable = {*bytes(range(128, 256)).decode("cp437"), *"►↑↓→▲"}
    assert all(c.isascii() or c in drawable for c in lowered)


def test_a_utf8_terminal_gets_everything_unchanged() -> None:
    assert GlyphLevel.BRAILLE.text("⣿ ▸ µ") == "⣿ ▸ µ"


CHARTS = {"glyphs.py", "digits.py", "cores.py", "cells.py"}
"""They choose their own characters by level."""


def test_whatever_is_written_has_a_stand_in_at_every_level() -> None:
    sources = [path for path in (ROOT / "tui").rglob("*.py") if path.name not in CHARTS]
    written = {
        character
        for path in sources
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for character in node.value
        if not character.isascii()
    }
    assert "━" in written
    lowered = {
        character: [level.text(character) for level in (GlyphLevel.BLOCKS, GlyphLevel.ASCII)]
        for character in written
    }
    assert {character for character, stand_ins in lowered.items() if "?" in stand_ins} == set()
