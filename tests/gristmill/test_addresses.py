"""What of an address may be kept: everything but user, password, query and fragment."""

import re

import pytest

from gristmill import errors
from gristmill.addresses import REFUSED_IN_FORMS, is_secret, public, public_text
from gristmill.config import parse
from gristmill.errors import ConfigError, GristmillError

SPELLINGS = {
    "https://ann:canary@host/x.jsonl": "https://host/x.jsonl",
    "https://canary@host/x.jsonl": "https://host/x.jsonl",
    "https://ann@corp.example:canary@host:8443/x.jsonl": "https://host:8443/x.jsonl",
    "HTTPS://ann:canary@HOST/x.jsonl": "HTTPS://HOST/x.jsonl",
    "https://ann:can/ary?c#@host/x.jsonl": "https://host/x.jsonl",
    "https://ann:12@host/x.jsonl": "https://host/x.jsonl",
    "https://host/x.jsonl?X-Amz-Signature=canary&X-Amz-Expires=60": "https://host/x.jsonl",
    "https://host/x.jsonl?sv=2024&sp=r&sig=canary": "https://host/x.jsonl",
    "https://host/x.jsonl?canary": "https://host/x.jsonl",
    "https://host/x.jsonl#canary": "https://host/x.jsonl",
    "https://host/x.jsonl#a?token=canary": "https://host/x.jsonl",
    "s3://AKIA0:canary/a+b@bucket/x.jsonl": "s3://bucket/x.jsonl",
    "sftp://ann:canary@host/a?.jsonl": "sftp://host/a?.jsonl",
    "az://box/x.jsonl?sv=1&sig=canary": "az://box/x.jsonl",
    "simplecache::https://ann:canary@host/x.jsonl": "simplecache::https://host/x.jsonl",
    "zip://a.jsonl::https://ann:canary@host/x.zip?token=canary": "zip://a.jsonl::https://host/x.zip",
}
OPEN = (
    "data/ann:b@c?d#e.jsonl",
    "/data/ann@host",
    "s3://bucket/a?b#c=d@e:f::g/*.jsonl",
    "http://127.0.0.1:8080/@scope/pkg@1.2/x.jsonl",
    "hf://datasets/org/name@main/x.jsonl",
    "abfs://box@account/x.jsonl",
    "memory://corpus/a b#[1].jsonl",
)


@pytest.mark.parametrize("address", SPELLINGS)
def test_what_is_secret_is_in_no_public_address_and_no_message(address: str) -> None:
    """A spelling that was not thought of would publish a password with the data set."""
    assert public(address) == public(public(address)) == SPELLINGS[address]
    assert is_secret(address) or re.search("[?#]canary|#a", address)
    for message in (f"{address}: not there", f"('{address}', 'x') a@b", f"see {address}."):
        assert public_text(message) == message.replace(address, SPELLINGS[address])
        for kind in (errors.ConfigError, errors.InputError, errors.StorageError, errors.WorkerLost):
            assert "canary" not in str(kind(message))


@pytest.mark.parametrize("address", OPEN)
def test_an_address_without_a_secret_is_left_as_it_is(address: str) -> None:
    """A key with @ or ? in it would be listed under one name and looked for under another."""
    assert public(address) == address
    assert not is_secret(address)
    assert public_text("expected tcp://HOST:8786, http://127.0.0.1:PORT or a@b") == (
        "expected tcp://HOST:8786, http://127.0.0.1:PORT or a@b"
    )


def test_a_query_that_names_the_content_stays_as_a_digest() -> None:
    """Two parts of a download would count as one file, or a new signature as a new file."""
    first, second = "https://host/x.jsonl?part=1", "https://host/x.jsonl?part=2"
    assert len({public(first), public(second), public("https://host/x.jsonl")}) == 3
    assert public(f"{first}&X-Amz-Signature=a") == public("https://host/x.jsonl?X-Amz-Signature=b&part=1")
    assert re.fullmatch(r"https://host/x.jsonl\?query=[0-9a-f]{12}", public(first))


@pytest.mark.parametrize(
    "document",
    [
        {"output": "s3://AKIA0:canary@bucket/x"},
        {"against": ["https://ann:canary@host/x"]},
        {"tokenizer": {"kind": "huggingface", "path": "https://ann:canary@host/tokenizer.json"}},
        {"dedup": [{"kind": "decontaminate", "paths": ["https://host/x.jsonl?sig=canary"]}]},
        {"execution": {"work": "s3://AKIA0:canary/b+c@bucket/x"}},
        {"execution": {"address": "tcp://ann:canary@host:8786"}},
        {"execution": {"s3": {"endpoint": "https://ann:canary@host"}}},
        {"sources": [{"kind": "huggingface", "path": "https://ann:canary@host/x"}]},
        {"sources": [{"kind": "files", "paths": ["s3://AKIA0:canary/b+c@bucket/x"]}]},
        {"sources": [{"kind": "files", "paths": ["simplecache::https://ann:canary@host/x.jsonl"]}]},
        {"sources": [{"kind": "files", "paths": f"https://ann:{'canary' * 20}@host/x.jsonl"}]},
        {"sources": [{"kind": "files", "paths": ["x"], "storage_options": {"password": "canary"}}]},
        {"sources": [{"kind": "huggingface", "path": "org/name", "token": "canary"}]},
        {
            "sources": [{"kind": "files", "paths": ["https://ann:canary@host/x.jsonl"]}],
            "execution": {"runner": "work_pool"},
        },
    ],
)
def test_a_secret_where_none_can_be_used_is_refused_and_not_shown(document: dict[str, object]) -> None:
    """The error that refuses a key printed it whole, into a log that all can read."""
    with pytest.raises(ConfigError) as refused:
        parse(document)
    assert "canary" not in str(refused.value)


def test_an_error_that_is_pickled_keeps_its_message() -> None:
    import pickle

    error = errors.InputError("https://ann:canary@host/x: bad", "limit")
    again: GristmillError = pickle.loads(pickle.dumps(error))
    assert str(again) == "https://host/x: bad"
    assert again.args == error.args


def test_a_form_takes_names_of_variables_alone() -> None:
    """A form of the server would store a password for good."""
    assert not re.search(REFUSED_IN_FORMS, "https://ann:${CORPUS_PASSWORD}@host/x?sig=${SIG}")
    assert not any(re.search(REFUSED_IN_FORMS, address) for address in OPEN)
    assert all(re.search(REFUSED_IN_FORMS, address) for address in SPELLINGS if address.startswith("https"))
