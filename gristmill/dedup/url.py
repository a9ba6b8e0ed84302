"""Documents fetched from the same address."""

import re
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from gristmill.dedup.base import Dedup, Signatures
from gristmill.errors import ConfigError
from gristmill.types import DOCUMENT_SCHEMA

_URL = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<user>[^/?#@\s]*@)?(?P<host>\[[^\]/?#\s]*\]|[^:/?#\s]*)"
    r"(?::(?P<port>[0-9]*))?(?P<path>/[^?#\s]*)?(?P<query>\?[^#\s]*)?(?:#.*)?",
    re.DOTALL,
)
_DEFAULT_PORTS = {"http": "80", "https": "443", "ftp": "21"}


class Url(Dedup):
    """Equal means: the same URL once it is normalised, whatever the documents say.

    Outer white space, the fragment, slashes at the end of the path and the scheme's default port (http 80, https 443,
    ftp 21) are left out; scheme and host are put in lower case (after RFC 3986, section 6.2). The query counts as it
    is. A value that is no ``scheme://host`` URL, or has white space in it, is compared as it stands. A document
    without a URL (null or blank) repeats none. The signature is xxh3_128 of the normalised URL's UTF-8.
    """

    transitive: ClassVar[bool] = True
    compares_text: ClassVar[bool] = False

    column: str = "url"
    """The documents' column with the URL."""

    def check_dtype(self) -> np.dtype:
        """The second half of the 128-bit hash."""
        return np.dtype((np.dtype("<u8"), (1,)))

    def sign(self, documents: pa.RecordBatch, programs: np.ndarray | None = None) -> Signatures:
        """As in the base class; raises ``ConfigError`` that lists the columns where there is no such column."""
        names = documents.schema.names
        if self.column not in names:
            further = ", ".join(name for name in names if name not in DOCUMENT_SCHEMA.names) or "none"
            raise ConfigError(f"url: no column {self.column!r}; beside the text the documents carry: {further}")
        urls = [normalised(url or "") for url in documents.column(self.column).cast(pa.string()).to_pylist()]
        digests = b"".join([xxhash.xxh3_128_digest(url.encode()) for url in urls])
        halves = np.frombuffer(digests, ">u8").astype(np.uint64).reshape(-1, 2)
        valid = np.array([url != "" for url in urls], np.bool_)
        return Signatures(bands=halves[:, :1], check=halves[:, 1:], valid=valid)

    def confirmed(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        same: npt.NDArray[np.bool_] = np.equal(first[:, 0], second[:, 0])
        return same


def normalised(url: str) -> str:
    """The form in which URLs are compared; empty for a blank one."""
    found = _URL.fullmatch(url.strip())
    if found is None:
        return url.strip()
    part = found.groupdict("")
    scheme = part["scheme"].lower()
    port = "" if part["port"] in ("", _DEFAULT_PORTS.get(scheme)) else f":{part['port']}"
    return f"{scheme}://{part['user']}{part['host'].lower()}{port}{part['path'].rstrip('/')}{part['query']}"
