"""Every awkward input of the shared collection that concerns reading, through ``Files``: kept texts, what was set
aside and why, and which files are refused."""

import hashlib
import json
from typing import Any

import pytest
from data import HARD

from gristmill.errors import InputError
from gristmill.sources.files import Files

FOLDER = HARD
GROUPS = {"stream", "encoding", "json", "parquet", "files"}
CASES = [case for case in json.loads((FOLDER / "expected.json").read_text())["cases"] if case["group"] in GROUPS]


def place_in_list(place: str) -> str:
    """The collection counts rows from 1, ``BadDocument.place`` from 0."""
    word, number = place.split()
    return f"row {int(number) + 1}" if word == "row" else place


def outcome(case: dict[str, Any]) -> dict[str, Any]:
    """What the source makes of a case, in the collection's words."""
    source = Files(paths=[str(FOLDER / path) for path in case["paths"]])
    hashes, quarantined, errors = [], [], []
    for shard in source.shards():
        texts: list[str] = []
        try:
            for chunk in source.read(shard):
                chunk.documents.validate(full=True)
                texts += chunk.documents.column("text").to_pylist()
                quarantined += [[place_in_list(bad.place), bad.reason] for bad in chunk.bad]
        except InputError as error:
            named = str(error).startswith(f"{shard.uri}: ")
            errors.append([shard.uri.removeprefix(f"{FOLDER}/") if named else str(error), error.reason])
            continue
        hashes += [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    return {"kept_sha256": hashes, "quarantined": quarantined if not errors else [], "file_errors": errors}


def test_the_collection_is_there():
    assert len(CASES) >= 30
    assert {case["group"] for case in CASES} == GROUPS


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any]):
    expected = case["expect"]
    assert outcome(case) == {key: expected[key] for key in ("kept_sha256", "quarantined", "file_errors")}
    assert len(expected["kept_sha256"]) == expected["kept"]


@pytest.mark.parametrize("case", [case for case in CASES if case["expect"]["skipped"]], ids=lambda case: case["id"])
def test_markers_in_a_folder_are_no_input(case: dict[str, Any]):
    uris = {shard.uri for shard in Files(paths=[str(FOLDER / path) for path in case["paths"]]).shards()}
    assert uris
    assert not uris & {str(FOLDER / path) for path, _ in case["expect"]["skipped"]}


def test_a_wrong_text_key_names_the_keys_that_are_there():
    source = Files(paths=[str(FOLDER / "json/wrong_key_everywhere.jsonl")])
    with pytest.raises(InputError, match=r"'text' \(text_key\); keys that are there: 'content'"):
        list(source.read(source.shards()[0]))


def test_a_cut_stream_names_the_file_and_the_byte():
    source = Files(paths=[str(FOLDER / "stream/cut_in_half.jsonl.gz")])
    with pytest.raises(
        InputError, match=r"cut_in_half\.jsonl\.gz: the gzip stream is cut: the file ends at byte 2276 "
    ):
        list(source.read(source.shards()[0]))
