"""A filter of the user's own, without a file in this folder."""

import importlib
import os
import re
from collections.abc import Callable
from functools import cache

from pydantic import Field

from gristmill.cleaning.base import DocumentFilter
from gristmill.errors import ConfigError

ALLOWED = "GRISTMILL_ALLOW_MODULES"
REASON = re.compile(r"[A-Za-z0-9_]{1,40}")


class Python(DocumentFilter):
    """Drops documents by a function of the user's own: ``function: module:name``, called with each text.

    It returns True or None to keep the document, False to drop it (reason ``python``), or the reason, one word of at
    most 40 letters, digits and underscores. It must depend on the text alone. Its code is not part of any
    fingerprint: raise ``revision`` when it changes, or outputs of the old code are reused.

    The module must be named in the environment variable ``GRISTMILL_ALLOW_MODULES`` (names separated by commas) of
    every machine that does the work. A configuration can be typed into a form by anyone who reaches the server, and
    code that it names runs with the rights of the worker; ``execution`` comes the same way, so the permission has to
    come from whoever starts the worker. Raises ``ConfigError`` without it, for a function that cannot be imported and
    for any other result.
    """

    function: str = Field(
        pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$",
        description="MODULE:NAME of the function, in a module that GRISTMILL_ALLOW_MODULES names.",
    )
    revision: int = Field(
        1, ge=1, description="Raise it when the function changes: its code is not part of the fingerprint."
    )

    def check(self) -> None:
        module = self.function.partition(":")[0]
        allowed = [name.strip() for name in os.environ.get(ALLOWED, "").split(",") if name.strip()]
        if module not in allowed:
            raise ConfigError(
                f"python: module {module!r} is not allowed on this machine; {ALLOWED} names the modules whose "
                f"functions may run: {', '.join(allowed) or 'none'}"
            )

    def reason(self, text: str) -> str | None:
        self.check()
        verdict = _function(self.function)(text)
        if verdict is None or verdict is True:
            return None
        if verdict is False:
            return self.kind()
        if isinstance(verdict, str) and REASON.fullmatch(verdict):
            return verdict
        raise ConfigError(
            f"python: {self.function} returned {verdict!r:.60}; expected True or None (keep), False, or a reason of "
            "at most 40 letters, digits and underscores"
        )


@cache
def _function(path: str) -> Callable[[str], object]:
    name, _, attribute = path.partition(":")
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise ConfigError(f"python: cannot import {name!r}: {error}; is its folder on PYTHONPATH?") from None
    found = getattr(module, attribute, None)
    if not callable(found):
        raise ConfigError(f"python: {name!r} has no function {attribute!r}")
    function: Callable[[str], object] = found
    return function
