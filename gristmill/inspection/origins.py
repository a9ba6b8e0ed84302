"""Where published documents come from: the input shards of a data set, and the ids that its files do not hold."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from gristmill import config as configuration
from gristmill.cleaning.base import Rule
from gristmill.config import PrepareConfig
from gristmill.dedup.base import SpanDedup
from gristmill.errors import GristmillError
from gristmill.tokenizers.base import Encoder
from gristmill.types import Manifest, ShardRef

ENDS = 40
"""Characters at either end by which a document is known that lost parts, or is one side of a cut."""


def shards_of(manifest: Manifest, config: PrepareConfig, wanted: set[int]) -> list[ShardRef]:
    """The wanted input shards, or all that could be read, with the numbers that they had in the run."""
    numbers = {(row.source, row.uri, str(row.part)): row.index for row in manifest.source_shards if not row.error}
    found = []
    for source in config.sources:
        for shard in source.planned():
            number = numbers.get((source.label, shard.uri, str(shard.part)))
            if number is not None and number in (wanted or {number}):
                found.append(replace(shard, index=number, source=source.label))
    return found


class Origins:
    """Finds the ids of published documents by reading their input shard again, up to the last of them.

    encoder: that of the data set. remote: whether to read shards that have to be downloaded.
    """

    def __init__(self, manifest: Manifest, encoder: Encoder, *, remote: bool) -> None:
        self._manifest, self._encoder, self._remote = manifest, encoder, remote
        self._config = configuration.parse(manifest.config, "manifest")
        self._whole = not self._config.dedup_of(SpanDedup) and self._config.split.kind() != "characters"

    def ids(self, shard: int, texts: list[str]) -> list[str]:
        """The ids of the first documents of a shard that were published as these texts; of one that is not found, as
        where the input is gone or must not be read, the empty text."""
        found = [""] * len(texts)
        try:
            for ref in shards_of(self._manifest, self._config, {shard}):
                if self._remote or not ref.remote:
                    self._look(ref, texts, found, lossy=False)
                    self._look(ref, texts, found, lossy=True)
        except GristmillError:
            pass  # it is another input now, or none
        return found

    def _look(self, shard: ShardRef, texts: list[str], found: list[str], *, lossy: bool) -> None:
        """Fill in what is not found yet. ``lossy``: compare with what the tokenizer leaves of each text."""
        for documents in self._cleaned(shard) if "" in found else []:
            cleaned = documents.column("text")
            if lossy:
                cleaned = pa.array([self._left(text) for text in cleaned.to_pylist()], pa.string())
            for place, text in enumerate(texts):
                row = -1 if found[place] else self._row(cleaned, text)
                if row >= 0:
                    found[place] = documents.column("id")[row].as_py()
            if "" not in found:
                return

    def _cleaned(self, shard: ShardRef) -> Iterator[pa.RecordBatch]:
        source = self._config.source(shard.source)
        for chunk in source.documents(shard):
            documents = chunk.documents
            place = documents.schema.get_field_index("text")
            for rule in self._config.rules(shard.source):
                if isinstance(rule, Rule):
                    documents = documents.set_column(place, "text", rule.rewrite(documents.column("text")))
            yield documents

    def _left(self, text: str) -> str:
        return self._encoder.decode(self._encoder.encode([text]).ids)

    def _row(self, cleaned: pa.StringArray, text: str) -> int:
        row = int(pc.index(cleaned, text).as_py())
        if row < 0 and not self._whole:
            ends = (pc.match_substring(cleaned, end) for end in (text[:ENDS], text[-ENDS:]))
            row = int(pc.index(pc.and_(*ends), True).as_py())
        return row
