"""Documents by the site that they came from."""

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, field_validator

from gristmill.cleaning._columns import column
from gristmill.cleaning.base import Filter
from gristmill.columns import strings

HOST = r"^\s*(?:[A-Za-z][A-Za-z0-9+.-]*:)?//(?:[^/?#@]*@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^/?#:@\s]+)"
"""The host of an absolute URL, without user and port (RFC 3986, section 3.2)."""


class Domains(Filter):
    """Drops documents by the host of the URL in ``column``; a domain stands for its subdomains too.

    With ``allow``, only documents of these domains stay; ``deny`` takes out of what is left. Reasons: ``no_domain``
    (null, or no absolute URL; only where ``allow`` is given), ``domain_not_allowed``, ``domain_denied``.
    Raises ``ConfigError`` where there is no such column.
    """

    column: str = Field("url", min_length=1, description="Column of the URL; name it in the source's columns.")
    allow: tuple[str, ...] = Field((), description="Only documents of these domains stay; empty: all do.")
    deny: tuple[str, ...] = Field((), description="Documents of these domains go.")

    @field_validator("allow", "deny")
    @classmethod
    def _plain(cls, domains: tuple[str, ...]) -> tuple[str, ...]:
        for domain in domains:
            if not domain.strip(".") or any(char in domain for char in "/:@ *"):
                raise ValueError(f"expected a bare domain such as example.org, got {domain!r}")
        return tuple(domain.lower().strip(".") for domain in domains)

    def reasons(self, documents: pa.RecordBatch) -> pa.StringArray:
        urls = column(documents, self.column, self.kind())
        hosts = pc.struct_field(pc.extract_regex(urls, HOST), "host").dictionary_encode()
        allow, deny = frozenset(self.allow), frozenset(self.deny)
        judged = strings([_judge(host, allow, deny) for host in hosts.dictionary.to_pylist()])
        reasons = judged.take(hosts.indices)
        if not self.allow:
            return reasons
        return pc.if_else(pc.is_null(hosts.indices), "no_domain", reasons)


def _judge(host: str, allow: frozenset[str], deny: frozenset[str]) -> str | None:
    labels = host.lower().strip(".").split(".")
    names = {".".join(labels[first:]) for first in range(len(labels))}
    if allow and not names & allow:
        return "domain_not_allowed"
    return "domain_denied" if names & deny else None
