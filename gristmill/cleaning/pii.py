"""Personal addresses: of mailboxes and of machines."""

import ipaddress
import re
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from gristmill.cleaning.base import Rule
from gristmill.columns import strings

EMAIL = r"[A-Za-z0-9._%+\-]*[A-Za-z0-9_%+\-]@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,24}\b"
"""RE2, whose time does not grow with the square of a long run of letters."""
MAY_HOLD_IP = r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]|:[0-9A-Fa-f]{0,4}:"
"""RE2: what every IP address holds somewhere; documents without it are not looked at closer."""
IP = re.compile(
    r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?:\.\d{1,3}){0,3})(?![\w:]|\.\w)"
)
"""Shaped like an address of version 4 or 6; whether it is one, the standard library decides."""


class Pii(Rule):
    """Replaces e-mail addresses by ``email`` and IP addresses (version 4 and 6) by ``ip``; null leaves a kind alone.

    ``ip_scope: public`` leaves addresses of private networks, loopback and documentation in the text. A version number
    with four parts below 256 cannot be told from an IP address; a version 6 address without any digit is left, since
    it cannot be told from a qualified name such as ``A::B``.
    """

    email: str | None = Field("[EMAIL]", description="What stands for an e-mail address; null leaves them.")
    ip: str | None = Field("[IP]", description="What stands for an IP address; null leaves them.")
    ip_scope: Literal["all", "public"] = Field("all", description="All addresses, or public ones alone.")

    def rewrite(self, texts: pa.StringArray) -> pa.StringArray:
        if self.email is not None:
            texts = pc.replace_substring_regex(texts, EMAIL, self.email.replace("\\", r"\\"))
        if self.ip is None:
            return texts
        mask = pc.match_substring_regex(texts, MAY_HOLD_IP)
        changed = [IP.sub(self._address, text) for text in texts.filter(mask).to_pylist()]
        return pc.replace_with_mask(texts, mask, strings(changed))

    def _address(self, match: re.Match[str]) -> str:
        try:
            address = ipaddress.ip_address(match[0])
        except ValueError:
            return match[0]
        public = self.ip_scope == "all" or address.is_global
        return str(self.ip) if public and any(char.isdigit() for char in match[0]) else match[0]
