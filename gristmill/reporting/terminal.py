"""The terminal as all commands write to it: text from data is plain text there."""

from typing import Any

from rich.console import Console
from rich.text import Text

from gristmill.reporting.tables import SPARED, printable


class Terminal(Console):
    """A console that takes no text for markup, emoji names or control sequences: a source named ``[/b]`` would end the
    command with a traceback, and an escape sequence in a file name could rewrite what is on the screen."""

    def __init__(self, *, stderr: bool = False, width: int | None = None) -> None:
        super().__init__(stderr=stderr, width=width, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Every text passes here, those in the cells, headers and titles of tables included."""
        return super().render_str(printable(text, SPARED), **{**options, "markup": False, "emoji": False})
