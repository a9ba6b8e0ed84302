"""Packages that only one kind of tokenizer needs."""

from importlib import import_module
from pathlib import Path
from typing import Any

from gristmill.errors import ConfigError


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
