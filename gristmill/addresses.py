"""Addresses of files as they may be kept and printed: ``public`` strips user, password, query and fragment.

The full address of an input is in the settings of its source alone, in memory; everything else has the public one. What
a query says of the content stays as a digest, so two addresses that differ by it are two files. User, password and the
parameters that only prove a right (``X-Amz-Signature``) are no part of it: a URL that is signed anew is the same input.
"""

import hashlib
import re

_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*"
_LINKS = re.compile(rf"::(?={_SCHEME}:)")
"""Between the parts of fsspec's chained addresses, as ``simplecache::https://HOST/x``."""

_USER = re.compile(r"(?:[^/?#]*:(?!\d*(?:[^\w@]|$)|\s)[^@]*|[^/?#@]*)@(?:[^/?#]*@)?")
"""User and password. After a colon that begins no port, all up to the next @ is a password, slashes included: the
secret keys of S3 have them."""

_PLACES = ("", "file", "abfs", "abfss", "git", "github", "wasb", "wasbs")
"""Schemes with a container or a branch before the @, and none at all. A password is never there."""

_SURE = (
    r"x-(amz|goog|oss|cos|ms)-.*|sig|.*(accesskeyid|token|signature|secret|passw(or)?d|pwd|credentials?|api[-_]?key)"
)
_PROOF = re.compile(
    rf"{_SURE}|q-.*|googleaccessid|key-pair-id|policy|expir(es|y|ation)|sign|auth(orization)?|hmac|key|user(name)?|"
    r"hdnts|hdnea|e|exp|ts|s[eiprstv]|spr|srt|ss|sk(oid|tid|t|e|s|v)|s[ac]oid|suoid|scid|x-id",
    re.IGNORECASE,
)
"""Names of parameters that prove a right and say nothing of the content: of Amazon, Google, Azure, Alibaba, Tencent,
CloudFront and Akamai, and the usual ones of others."""

_PROOF_OF_STORES = re.compile(_SURE, re.IGNORECASE)
"""Where no query is usual: in object stores ? and = are letters of a key."""

REFUSED_IN_FORMS = (
    rf"^(?!abfs|wasb|git){_SCHEME}://(?:[^/?#$]*|[^/?#$]*:(?!\d*(?:[/?#]|$))[^$]*)@|^https?://[^$]*[?#][^$]*$"
)
"""Pattern of addresses that a form of the Prefect server refuses, since the server keeps what is typed. A secret is
``${NAME}`` there."""

_DIGEST = re.compile(r"query=[0-9a-f]{12}")
_ADDRESS = re.compile(
    rf"""(?:{_SCHEME}::)*{_SCHEME}://(?:[^\s/?#'"]*:(?!\d*(?:[^\w@]|$))[^\s@'"]*@)?[^\s'"<>`]*""", re.IGNORECASE
)
_END = ":;,.)]}"
"""What ends a sentence rather than an address."""


def public(address: str) -> str:
    """The address as it may be kept and printed. A path, and what was stripped before, are returned as they are."""
    return "::".join(_public(link) for link in _LINKS.split(address))


def public_text(text: str) -> str:
    """A message with every address in it as ``public`` has it."""
    return _ADDRESS.sub(_replaced, text) if "://" in text else text


def is_secret(address: str) -> bool:
    """Whether a setting that is no input address gives a user, a password or a signature away."""
    named = _parameters(address) if _ADDRESS.fullmatch(address) else []
    return has_user(address) or any(_PROOF.fullmatch(name) for name, _ in named)


def has_user(address: str) -> bool:
    """Whether a user or a password is part of the address."""
    return any(_without_user(link) != link for link in _LINKS.split(address))


def is_signed(address: str) -> bool:
    """Whether the address is of the web and has a query: it is one file, and no glob with a question mark."""
    return _is_web(address) and bool(_parameters(address))


def is_chained(address: str) -> bool:
    """Whether the address names one file through another: ``simplecache::https://HOST/x``."""
    return "://" in address and len(_LINKS.split(address)) > 1


def with_user_of(address: str, other: str) -> str:
    """A public address with the user and password of another one, of the same server."""
    scheme, _, rest = other.partition("://")
    found = _USER.match(rest)
    assert found is not None
    return f"{scheme}://{found[0]}{address.partition('://')[2]}"


def _replaced(found: re.Match[str]) -> str:
    address = found[0].rstrip(_END)
    return public(address) + found[0][len(address) :]


def _scheme(address: str) -> str:
    scheme, separator, _ = address.partition("://")
    return scheme.lower() if separator and re.fullmatch(_SCHEME, scheme) else ""


def _is_web(address: str) -> bool:
    return _scheme(address) in ("http", "https")


def _public(link: str) -> str:
    bare = _without_user(link)
    path, _, query = bare.partition("#")[0].partition("?")
    if not _is_web(bare):
        return path if any(_PROOF_OF_STORES.fullmatch(name) for name, _ in _parameters(bare)) else bare
    if _DIGEST.fullmatch(query):
        return bare
    said = sorted((name, value) for name, value in _parameters(bare) if not _PROOF.fullmatch(name))
    digest = hashlib.sha256(repr(said).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{path}?query={digest}" if said else path


def _without_user(link: str) -> str:
    scheme, separator, rest = link.partition("://")
    if _scheme(link) in _PLACES:
        return link
    found = _USER.match(rest)
    return f"{scheme}{separator}{rest[found.end() :]}" if found else link


def _parameters(address: str) -> list[tuple[str, str]]:
    """Names and values in the query. Words without a value are left out: they may be all of a token."""
    query = address.partition("#")[0].partition("?")[2]
    pairs = [pair.partition("=") for pair in re.split("[&;]", query)]
    return [(name, value) for name, separator, value in pairs if separator]
