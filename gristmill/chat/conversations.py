"""Conversations in, a file of packed rows out."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np
from tokenizers import Tokenizer

from gristmill.chat._files import WRITERS
from gristmill.chat.sft import Sft
from gristmill.errors import ConfigError, InputError, alternatives
from gristmill.sources._lines import blocks
from gristmill.sources._streams import PIECE, UTF8_MARK, unmarked
from gristmill.sources._unfolded import as_lines
from gristmill.stages.output.rows import Stream, row_groups
from gristmill.storage import disk
from gristmill.storage.rows import RowGroup
from gristmill.tokenizers._battery import check_special
from gristmill.tokenizers.base import Encoder
from gristmill.types import Value, token_dtype

TOGETHER = 1 << 14
"""Conversations that are packed together: at 1,000 ids each 50 MB."""

GROUP_ROWS = 256
LONGEST_LINE = 1 << 30

SAMPLES = 20
"""Lines that could not be used, of which the report tells where and why."""


class _Message(msgspec.Struct):
    role: str
    content: str


class _Conversation(msgspec.Struct):
    messages: list[_Message]


class ChatReport(Value, frozen=True, kw_only=True):
    """What became of every line: ``conversations == packed + sum(dropped.values())``, and of every id, as
    ``Segments.account`` has it; ``learned``: ids of the assistant in the rows."""

    conversations: int
    packed: int
    dropped: dict[str, int]
    """``bad_line``, ``refused`` by the template, ``too_long``, ``nothing_to_learn``."""
    account: dict[str, int]
    learned: int
    samples: list[str]


def pack_conversations(
    paths: list[Path], folder: Path, encoder: Encoder, packing: Sft, output: Path, *, format: str = "parquet_rows"
) -> ChatReport:
    """Write rows of the conversations in JSON Lines files, in their order: ``{"messages": [{"role": ..., "content":
    ...}]}`` a line. ``folder`` is where ``encoder`` was loaded from. Special tokens are such in the template alone.
    ``format`` is one of ``WRITERS``: of ``parquet_rows`` ``output`` is a file, of ``olmo`` a folder.

    The input shard of a row's segment is the place of its file in ``paths``. Raises ``ConfigError`` when the tokenizer
    has no EOS or gives it for text, ``InputError`` when no conversation is left.
    """
    if format not in WRITERS:
        raise ConfigError(f"no format {format!r} of conversations; {alternatives(format, WRITERS)}")
    if encoder.eot_id is None:
        raise ConfigError(f"tokenizer {encoder.name} has no end-of-text token, with which every conversation starts")
    check_special(encoder)
    made = _Chat(encoder, _specials(folder / encoder.file), packing)
    dtype = token_dtype(encoder.vocab_size)
    WRITERS[format](made.groups(paths, dtype), dtype, encoder, output)
    return ChatReport(
        conversations=made.packed + made.dropped.total(),
        packed=made.packed,
        dropped={reason: count for reason, count in sorted(made.dropped.items()) if count},
        account=dict(made.account),
        learned=made.learned,
        samples=made.samples,
    )


def _lines(paths: list[Path]) -> Iterator[tuple[int, str, bytes]]:
    """A line, or an object of an array or over several lines."""
    for number, path in enumerate(paths):
        with disk.translated(path), path.open("rb") as file:
            pieces = iter(partial(file.read, PIECE), b"")
            text, _ = as_lines(unmarked(pieces, str(path)), str(path))
            for block in blocks(text, line_bytes=LONGEST_LINE):
                for line, data in enumerate(block.data.split(b"\n"), block.line):
                    if data := data.strip().removeprefix(UTF8_MARK):
                        yield number, f"{path}:{line}", data


def _specials(path: Path) -> dict[str, int]:
    if path.name != "tokenizer.json":
        return {}
    return {
        token.content: number for number, token in Tokenizer.from_file(str(path)).get_added_tokens_decoder().items()
    }


class _Chat:
    """Conversations so far, and what became of them."""

    def __init__(self, encoder: Encoder, specials: dict[str, int], packing: Sft) -> None:
        self._encoder, self._specials, self._packing = encoder, specials, packing
        longest_first = sorted(specials, key=len, reverse=True)
        self._special = re.compile("(" + "|".join(map(re.escape, longest_first)) + ")" if specials else r"(?!)()")
        self.dropped: Counter[str] = Counter()
        self.account: Counter[str] = Counter()
        self.packed = self.learned = 0
        self.samples: list[str] = []

    def groups(self, paths: list[Path], dtype: np.dtype) -> Iterator[RowGroup]:
        """Row groups of conversations, some thousand packed together. Raises ``InputError`` when there is none."""
        lines = _lines(paths)
        while some := list(islice(lines, TOGETHER)):
            files, texts = [], []
            for file, place, line in some:
                texts.append(self._spans(place, line))
                files.append(file)
            yield from self._rows(np.array(files), self._encoded(texts), dtype)
        if not self.packed:
            raise InputError(f"{', '.join(map(str, paths))}: no conversation can be used: {dict(self.dropped)}")

    def _spans(self, place: str, line: bytes) -> list[tuple[str | int, bool]]:
        """Texts and special ids, with whether to learn them; empty for a line that cannot be used."""
        try:
            messages = msgspec.json.decode(line, type=_Conversation).messages
            spans = self._packing.render([msgspec.structs.asdict(message) for message in messages])
        except (msgspec.DecodeError, UnicodeDecodeError, InputError) as error:
            self._drop("refused" if isinstance(error, InputError) else "bad_line", place, str(error))
            return []
        found: list[tuple[str | int, bool]] = []
        for span in spans:
            for part in [span.text] if span.said else self._special.split(span.text):
                if part:
                    special = None if span.said else self._specials.get(part)
                    found.append((part if special is None else special, span.learn))
        if not any(learn for _, learn in found):
            self._drop("nothing_to_learn", place, "the assistant says nothing")
            return []
        return found

    def _drop(self, reason: str, place: str, why: str) -> None:
        self.dropped[reason] += 1
        if len(self.samples) < SAMPLES:
            self.samples.append(f"{place}: {reason}: {why}")

    def _encoded(self, conversations: list[list[tuple[str | int, bool]]]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of each the ids, start of text first, and which to learn; both empty for one that is dropped."""
        texts = [part for spans in conversations for part, _ in spans if isinstance(part, str)]
        encoded = self._encoder.encode(texts)
        pieces = iter(np.split(encoded.ids, encoded.offsets[1:-1]) if texts else [])
        found = []
        for spans in conversations:
            ids = [np.array([self._encoder.eot_id] if spans else [], np.uint32)]
            ids += [next(pieces) if isinstance(part, str) else np.array([part], np.uint32) for part, _ in spans]
            learn = np.repeat([False, *(learn for _, learn in spans)], [len(part) for part in ids])
            found.append((np.concatenate(ids), learn))
        return found

    def _rows(
        self, files: np.ndarray, encoded: list[tuple[np.ndarray, np.ndarray]], dtype: np.dtype
    ) -> Iterator[RowGroup]:
        capacity = self._packing.capacity
        cut = capacity if self._packing.long == "truncate" else None
        learned = np.array([bool(learn[:cut].any()) for _, learn in encoded])
        filled = np.array([len(ids) > 0 for ids, _ in encoded])
        self.dropped["nothing_to_learn"] += int(np.count_nonzero(filled & ~learned))
        kept = [encoded[place] for place in np.flatnonzero(learned).tolist()]
        if not kept:
            return
        lengths = np.array([len(ids) for ids, _ in kept])
        segments = self._packing.arrange(lengths)
        self.account.update(segments.account(lengths, capacity))
        self.dropped["too_long"] += len(segments.left)
        self.packed += len(kept) - len(segments.left)
        ids, learn = (np.concatenate(parts) for parts in zip(*kept, strict=True))
        pad = np.full(capacity, self._encoder.eot_id, dtype)
        streams = (
            Stream([ids.astype(dtype).data.cast("B")], lengths, pad),
            Stream([learn.data.cast("B")], lengths, np.zeros(capacity, bool)),
        )
        for group in row_groups(*streams, segments, files[learned], GROUP_ROWS):
            self.learned += int(group.mask.sum())
            yield group
