"""How documents become the stream that a format stores."""

from gristmill.plugins import Plugin


class Packing(Plugin):
    """Base of all kinds of packing."""
