"""Packages that only one kind of tokenizer needs."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from gristmill.errors import ConfigError, InputError


def needed(package: str) -> Any:
    """The module ``package``; raises ``ConfigError`` that says how to install it."""
    try:
        return import_module(package)
    except ModuleNotFoundError:
        raise ConfigError(
            f"tokenizer: kind {package} needs the package {package}: pip install 'gristmill[{package}]'"
        ) from None


def content(path: str, what: str) -> bytes:
    """The bytes of a local file; raises ``ConfigError`` that says what to give."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"tokenizer {path}: {error.strerror}; give the path of {what}") from None


@contextmanager
def giving_up(name: str, texts: list[str]) -> Iterator[None]:
    """Raises ``InputError`` where a library of tokenizer ``name`` fails to encode ``texts``: its expression gave up, or
    it has no id for something. What its code in Rust raises then is no ``Exception``."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:
        text = max(texts, key=len, default="")
        raise InputError(
            f"tokenizer {name}: cannot encode a document of {len(text)} characters that begins with {text[:40]!a}: "
            f"{error}; leave such text out by a cleaning rule or the source's limits, or choose another tokenizer",
            "bad_ids",
        ) from None
