"""What a user writes, checked once at the door."""

from gristmill.config.prepare import PrepareConfig, parse

__all__ = ["PrepareConfig", "parse"]
