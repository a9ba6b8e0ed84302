import time

import pytest
from texts import sample, strings

from gristmill.cleaning.pii import Pii


def rewrite(text: str, rule: Pii | None = None) -> str:
    return (rule or Pii()).rewrite(strings([text])).to_pylist()[0]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Write to jane.doe+x@mail.example.org.", "Write to [EMAIL]."),
        ("<a@b.co>, c_d@e-f.museum!", "<[EMAIL]>, [EMAIL]!"),
        ("\u5199\u4fe1\u7ed9a@b.cn\uff0c\u8c22", "\u5199\u4fe1\u7ed9[EMAIL]\uff0c\u8c22"),
        ("10.0.0.1 10.0.0.2,8.8.8.8.", "[IP] [IP],[IP]."),
        ("at 2001:db8::1 and ::ffff:1.2.3.4, fe80::1", "at [IP] and [IP], [IP]"),
    ],
)
def test_addresses_are_replaced(text: str, wanted: str) -> None:
    assert rewrite(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "user@host",
        "@decorator.name",
        "300.1.2.3",
        "1.2.3.4.5",
        "v1.2.3",
        "12:30:45",
        "std::vector",
        "x :: a",
        "A::B",
        "::",
    ],
)
def test_what_only_looks_like_an_address_stays(text: str) -> None:
    """Code and times of day are full of such shapes."""
    assert rewrite(text) == text


def test_choices() -> None:
    text = "a@b.co 192.168.0.1 8.8.8.8"
    assert rewrite(text, Pii(ip_scope="public")) == "[EMAIL] 192.168.0.1 [IP]"
    assert rewrite(text, Pii(email=None, ip="")) == "a@b.co  "
    assert rewrite(text, Pii(email=r"\0", ip=None)) == r"\0 192.168.0.1 8.8.8.8"


def test_twice_is_once_on_real_documents() -> None:
    texts = strings(sample())
    once = Pii().rewrite(texts)
    assert Pii().rewrite(once).equals(once)
    assert sum("[EMAIL]" in text for text in once.to_pylist()) > 5


def test_a_huge_run_of_letters_takes_no_quadratic_time() -> None:
    """One such document would hold a worker for hours."""
    start = time.perf_counter()
    rewrite("a" * 2_000_000 + " @ " + "1" * 1_000_000 + " 1.1.1.1." + ":a" * 500_000)
    assert time.perf_counter() - start < 3
