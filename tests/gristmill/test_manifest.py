"""The manifest on disk: whole, sealed, and refused when it was touched."""

from collections.abc import Callable
from pathlib import Path

import pytest
from manifests import manifest, write_manifest

from gristmill.errors import ConfigError, VerificationError
from gristmill.manifest import read_manifest, seal


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = write_manifest(tmp_path, manifest())
    assert read_manifest(tmp_path) == seal(manifest())
    assert path.read_bytes().endswith(b"}\n")


def test_the_seal_covers_every_value() -> None:
    """A seal that left a field out would let it be edited."""
    assert seal(manifest()).sha256 == seal(seal(manifest())).sha256
    assert seal(manifest(dropped={"blank": 2})).sha256 != seal(manifest()).sha256


def test_the_seal_does_not_depend_on_key_order() -> None:
    """Two runs that met the sources in another order publish the same manifest."""
    first = manifest(sources={"a": {"documents": 1}, "b": {"documents": 2}})
    second = manifest(sources={"b": {"documents": 2}, "a": {"documents": 1}})
    assert seal(first).sha256 == seal(second).sha256


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "a count": lambda data: data.replace(b'"documents": 3', b'"documents": 4', 1),
    "a name": lambda data: data.replace(b'"demo"', b'"else"'),
    "white space": lambda data: data + b"\n",
    "a key that is not ours": lambda data: data.replace(b"{", b'{"extra": 1,', 1),
    "a repeated key": lambda data: data.replace(b"{", b'{"dataset": "demo",', 1),
    "cut": lambda data: data[: len(data) // 2],
    "empty": lambda _: b"",
    "not UTF-8": lambda data: data.replace(b"demo", b"d\xffmo"),
    "another JSON": lambda _: b"[1, 2]\n",
    "no seal": lambda data: data.replace(data[data.index(b'"sha256"', len(data) - 120) :], b'"sha256": ""\n}\n'),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_manifest_is_refused(tmp_path: Path, what: str) -> None:
    """Figures that someone edited must not be taken for the record."""
    path = write_manifest(tmp_path, manifest())
    changed = CHANGES[what](path.read_bytes())
    assert changed != path.read_bytes()
    path.write_bytes(changed)
    with pytest.raises(VerificationError, match=r"manifest\.json: (not a manifest|changed after it was written)"):
        read_manifest(tmp_path)


def test_a_folder_without_one_is_no_data_set(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"manifest\.json: no such file; give the folder of a finished data set"):
        read_manifest(tmp_path)
