"""The screen as plain text."""

from textual.app import App


def grid(app: App[None]) -> str:
    """What is on the screen, row by row, blanks at the ends cut off.

    The compositor is private to Textual; this is the only place in the tests that reads it.
    """
    rows = app.screen._compositor.render_strips()
    return "\n".join(row.text.rstrip() for row in rows) + "\n"
