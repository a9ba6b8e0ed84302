"""The documentation that every Python brings along: a corpus of about 5 MB without a download.

One document a module of the standard library (its docstrings and comments) and one a topic of ``help()``.
"""

import ast
import platform
import sysconfig
import tokenize
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from pydoc_data.topics import topics

from gristmill.errors import InputError
from gristmill.sources._rows import Fields, bad, fault_of
from gristmill.sources.base import BadDocument, Chunk, Source
from gristmill.types import ShardRef, Value

MODULE_SHARDS = 7
"""And one of topics: enough for the workers of a small machine, at about half a second each."""

MODULES_URI = "python:modules"
TOPICS_URI = "python:topics"

_LEFT_OUT = {"site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__"}
_MOST_CHARS = 1 << 26


class Module(Value, frozen=True, kw_only=True):
    """A source file of the standard library."""

    name: str
    """As imported: ``json.decoder``, and ``json`` for ``json/__init__.py``."""
    path: str
    size: int


class StdlibDocs(Source):
    """Docstrings and comments of Python's own modules, in source order, and the topics of its help.

    Ids are ``module:json.decoder`` and ``topic:ASSIGNMENT``. What there is depends on the Python that runs, and so
    does the identity of the shards.
    """

    def shards(self) -> list[ShardRef]:
        modules = standard_modules()
        identity = f"{platform.python_version()}:{sum(module.size for module in modules)}"
        refs = [
            ShardRef(
                index=index,
                source=self.label,
                uri=MODULES_URI,
                size=sum(module.size for module in modules[start:stop]),
                identity=identity,
                part={"start": start, "stop": stop},
            )
            for index, (start, stop) in enumerate(pairwise(_edges(modules)))
        ]
        size = sum(map(len, topics.values()))
        return [*refs, ShardRef(index=len(refs), source=self.label, uri=TOPICS_URI, size=size, identity=identity)]

    def read(self, shard: ShardRef) -> Iterator[Chunk]:
        if shard.uri == TOPICS_URI:
            yield self._chunk({f"topic:{name}": text for name, text in sorted(topics.items())})
        elif shard.uri == MODULES_URI and shard.part is not None:
            modules = standard_modules()[shard.part["start"] : shard.part["stop"]]
            texts = {f"module:{module.name}": documentation(Path(module.path).read_bytes()) for module in modules}
            yield self._chunk({name: text for name, text in texts.items() if text})
        else:
            raise InputError(f"{shard.uri}: not a part of Python; there are: {MODULES_URI}, {TOPICS_URI}")

    def _chunk(self, texts: dict[str, str]) -> Chunk:
        faults: list[BadDocument] = []
        for name, text in texts.items():
            if reason := fault_of(text, _MOST_CHARS):
                faults.append(bad(reason, "line 1", -1, f"{name}: {text}".encode("utf-8", "surrogatepass")))
        good = {name: text for name, text in texts.items() if not fault_of(text, _MOST_CHARS)}
        fields = Fields(text_key="text", columns=[], label=self.label)
        return Chunk(documents=fields.batch(list(good.values()), {}, good), bad=faults)


def standard_modules() -> list[Module]:
    """The modules of the running Python's standard library, sorted by name; tests and installed packages left out.

    Raises ``InputError`` where Python came without sources.
    """
    root = Path(sysconfig.get_path("stdlib"))
    found = [
        Module(name=_name(path.relative_to(root)), path=str(path), size=path.stat().st_size) for path in _sources(root)
    ]
    if not found:
        raise InputError(f"{root}: no Python sources here; use a Python that was installed with its library as files")
    return sorted(found, key=lambda module: module.name)


def _sources(folder: Path) -> Iterator[Path]:
    """Source files that can be imported, folders left out not even entered: packages may be many."""
    for path in folder.iterdir():
        if path.is_dir():
            if path.name.isidentifier() and path.name not in _LEFT_OUT:
                yield from _sources(path)
        elif path.suffix == ".py" and path.stem.isidentifier():
            yield path


def _name(path: Path) -> str:
    parts = path.parent.parts if path.stem == "__init__" else (*path.parent.parts, path.stem)
    return ".".join(parts)


def _edges(modules: list[Module]) -> list[int]:
    """Where to cut a list of modules into runs of about equal size."""
    total = sum(module.size for module in modules)
    edges, done = [0], 0
    for index, module in enumerate(modules):
        if done * MODULE_SHARDS >= total * len(edges):
            edges.append(index)
        done += module.size
    return [*edges, len(modules)]


class _Remark(Value, frozen=True, kw_only=True):
    line: int
    text: str


def documentation(source: bytes) -> str:
    """Docstrings and comments of a module in source order, blank lines between; empty when it has neither or is no
    valid Python (a few files of the library are meant for other tools)."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ""
    head = ast.get_docstring(tree)
    found = sorted([*_docstrings(tree), *_comments(source)], key=lambda remark: remark.line)
    texts = ([head] if head else []) + [remark.text for remark in found]
    return "\n\n".join(text for text in texts if text.strip())


def _docstrings(tree: ast.Module) -> Iterator[_Remark]:
    """Those of classes and functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield _Remark(line=node.body[0].lineno, text=text)


def _comments(source: bytes) -> Iterable[_Remark]:
    """Comments without their marks; those on lines that follow one another are one remark."""
    remarks: list[_Remark] = []
    last = -1
    for token in tokenize.tokenize(BytesIO(source).readline):
        if token.type != tokenize.COMMENT or (token.start[0] <= 2 and _is_for_machines(token.string)):
            continue
        line, text = token.start[0], token.string.lstrip("#").removeprefix(" ").rstrip()
        if remarks and line == last + 1:
            remarks[-1] = _Remark(line=remarks[-1].line, text=f"{remarks[-1].text}\n{text}")
        else:
            remarks.append(_Remark(line=line, text=text))
        last = line
    return remarks


def _is_for_machines(comment: str) -> bool:
    """The two comments that may open a file for the system and the parser."""
    return comment.startswith("#!") or "coding:" in comment or "coding=" in comment
