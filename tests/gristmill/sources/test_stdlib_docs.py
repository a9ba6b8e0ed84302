"""The ``stdlib_docs`` source: the corpus of the first run, made of Python itself."""

import json
import platform
import sysconfig
from itertools import pairwise
from pathlib import Path
from pydoc_data.topics import topics

import pytest
from reading import Read

from gristmill.errors import InputError
from gristmill.plugins import load
from gristmill.sources.stdlib_docs import MODULES_URI, StdlibDocs, documentation, standard_modules
from gristmill.types import DOCUMENT_SCHEMA, ShardRef

SOURCE = StdlibDocs()
SHARDS = SOURCE.shards()

EXAMPLE = b'''#!/usr/bin/env python3
# -*- coding: utf-8 -*-
# Licence: yes.
#
#   and more
"""The module.

    Indented.
"""
x = "# no comment"  # after code
def f():
    "f's words"
    def g():
        """g's words"""
    # before class
class C:
    r"""C's words"""

    async def h(self):
        \'\'\'h\'s words\'\'\'
        f"""no docstring {x}"""
'''


def test_words_come_in_source_order_with_the_module_first():
    """A string or a format string taken for a comment or docstring would put code into the corpus."""
    assert documentation(EXAMPLE).split("\n\n") == [
        "The module.",
        "Indented.",
        "Licence: yes.",
        "  and more",
        "after code",
        "f's words",
        "g's words",
        "before class",
        "C's words",
        "h's words",
    ]


def test_encodings_are_honoured_and_foreign_syntax_passed_over():
    """A few files of the library are templates or Python 2: they must not stop the first run."""
    assert documentation("# -*- coding: latin-1 -*-\n'lait\u00e9'\n".encode("latin-1")) == "lait\u00e9"
    assert documentation(b"print 'two'\n") == ""
    assert documentation(b"x = 1\n") == ""


def test_the_shards_share_all_modules_once():
    assert [shard.index for shard in SHARDS] == list(range(8))
    parts = [shard.part for shard in SHARDS[:-1]]
    assert all(left["stop"] == right["start"] for left, right in pairwise(parts))
    assert (parts[0]["start"], parts[-1]["stop"]) == (0, len(standard_modules()))
    sizes = [shard.size for shard in SHARDS[:-1]]
    assert max(sizes) < 2 * min(sizes)
    assert {shard.identity for shard in SHARDS} == {
        f"{platform.python_version()}:{sum(module.size for module in standard_modules())}"
    }
    assert json.loads(json.dumps(SOURCE.settings())) == load("sources", SOURCE.settings()).settings()


def test_modules_are_those_one_imports():
    """Tests and installed packages would make the corpus depend on what else is installed."""
    names = [module.name for module in standard_modules()]
    assert names == sorted(set(names))
    assert {"json", "json.decoder", "os", "email.mime.text"} <= set(names)
    assert not [name for name in names if {"test", "tests", "site-packages", "idle_test"} & set(name.split("."))]


def test_a_shard_of_modules_reads_the_same_twice():
    index = [module.name for module in standard_modules()].index("json.decoder")
    shard = ShardRef(
        index=0, source="x", uri=MODULES_URI, size=1, identity="", part={"start": index - 2, "stop": index + 3}
    )
    first, second = (Read(SOURCE.read(shard)) for _ in range(2))
    assert first.table.schema == DOCUMENT_SCHEMA
    assert first.table.equals(second.table)
    text = dict(zip(first.ids, first.texts, strict=True))["module:json.decoder"]
    assert text.startswith("Implementation of JSONDecoder\n\n")
    assert "Simple JSON <https://json.org> decoder" in text
    assert first.column("source") == ["stdlib_docs"] * len(first.ids)
    assert not first.bad


def test_a_module_without_words_is_no_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "bare.py").write_text("x = 1\n")
    (tmp_path / "worded.py").write_text("# word\n")
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "unwanted.py").write_text("# no\n")
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    found = Read(chunk for shard in SOURCE.shards()[:-1] for chunk in SOURCE.read(shard))
    assert (found.ids, found.texts) == (["module:worded"], ["word"])


def test_topics_are_the_last_shard():
    found = Read(SOURCE.read(SHARDS[-1]))
    assert found.ids == [f"topic:{name}" for name in sorted(topics)]
    assert len(found.ids) > 70
    assert topics["assert"] in found.texts


def test_a_python_without_sources_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Zipped and frozen interpreters have none; an empty corpus would fail much later."""
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    with pytest.raises(InputError, match="no Python sources here"):
        SOURCE.shards()


def test_a_foreign_shard_is_refused():
    shard = ShardRef(index=0, source="x", uri="elsewhere", size=1, identity="")
    with pytest.raises(InputError, match="python:modules, python:topics"):
        list(SOURCE.read(shard))
