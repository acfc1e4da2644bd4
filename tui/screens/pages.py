"""The pages that keys open, by name. Loaded with the first page that is opened."""

from idlegap.tui.screens.detail import detail_text
from idlegap.tui.screens.explain import explain_text
from idlegap.tui.screens.help import help_text
from idlegap.tui.screens.page import PageText
from idlegap.tui.screens.why import why_text

PAGES: dict[str, PageText] = {
    "detail": detail_text,
    "explain": explain_text,
    "why": why_text,
    "help": help_text,
}
