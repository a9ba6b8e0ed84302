from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import documents

from gristmill.cleaning.domains import Domains
from gristmill.errors import ConfigError

URLS = {
    "https://example.org/a": "example.org",
    "http://www.Example.ORG:8080/?x=http://bad.net": "www.example.org",
    "//user:secret@cdn.example.org#f": "cdn.example.org",
    "https://notexample.org/": "notexample.org",
    "ftp://bad.net": "bad.net",
    "https://example.org.bad.net/": "example.org.bad.net",
    "https://bad.net./path": "bad.net.",
    "http://[2001:db8::1]:80/": "2001:db8::1",
}


def reasons(rule: Domains, urls: list[str | None]) -> list[str | None]:
    return rule.reasons(documents(["text"] * len(urls), url=urls)).to_pylist()


def inside(host: str, domain: str) -> bool:
    host = host.rstrip(".")
    return host == domain or host.endswith("." + domain)


@given(st.lists(st.sampled_from(list(URLS)), max_size=20))
def test_a_domain_stands_for_its_subdomains_and_for_nothing_else(urls: list[str]) -> None:
    """``notexample.org`` ends in ``example.org`` as a string, and ``example.org.bad.net`` starts with it."""
    hosts = [urlsplit(url).hostname or "" for url in urls]
    assert [URLS[url] for url in urls] == hosts
    denied = ["domain_denied" if inside(host, "bad.net") else None for host in hosts]
    allowed = [None if inside(host, "example.org") else "domain_not_allowed" for host in hosts]
    assert reasons(Domains(deny=("bad.net",)), urls) == denied
    assert reasons(Domains(allow=("Example.org",)), urls) == allowed


def test_no_url_is_a_reason_only_where_domains_are_allowed() -> None:
    assert reasons(Domains(deny=("bad.net",)), [None, "no url", ""]) == [None] * 3
    assert reasons(Domains(allow=("a.org",)), [None, "no url", "https://a.org"]) == ["no_domain", "no_domain", None]
    both = Domains(allow=("a.org",), deny=("b.a.org",))
    assert reasons(both, ["https://b.a.org", "https://c.a.org"]) == ["domain_denied", None]


def test_what_is_no_domain_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"bare domain.*https://a.org"):
        Domains.parse({"deny": ["https://a.org"]})
    with pytest.raises(ConfigError, match="no column 'url'"):
        Domains().reasons(documents(["a"]))
