"""Documents of a file that is gone, read again from a file of another name: refused before they are published twice."""

import numpy as np

from gristmill import ledger
from gristmill.config import PrepareConfig
from gristmill.dedup.base import Dedup
from gristmill.errors import ConfigError
from gristmill.stages.ingest.changes import ADVICE
from gristmill.stages.publish.results import Results
from gristmill.storage import stores
from gristmill.types import SourceShard, StageReport

MOST_SHARED = 0.5
"""Share of a file's documents that another one may repeat by chance."""


def check_new(results: Results, gone: list[SourceShard], config: PrepareConfig) -> None:
    """Raises ``ConfigError`` where most documents of a file that is gone were read again, and no kind of dedup finds
    them: it was renamed and changed, or compressed in another way."""
    if not gone or config.dedup_of(Dedup):
        return
    uris = {shard.index: shard.uri for shard in results.shards}
    texts = {report.details["content_sha256"]: uris[report.shard] for report in results.fetched if report.docs_out}
    read = {uris[report.shard]: _documents([report]) for report in results.signed}
    folder = stores.at(stores.at(config.execution.work).where("sign"))
    for row in gone:
        reports = [ledger.listed(folder.where(key)) for key in row.signed]
        old = _documents([report for report in reports if report is not None])
        again = texts.get(row.sha256) or next(
            (uri for uri, found in read.items() if len(old) and np.isin(old, found).mean() > MOST_SHARED), ""
        )
        if again:
            raise ConfigError(
                f"{again}: holds documents of {row.uri}, which are published; no kind in dedup compares documents, so "
                f"they would be published again; give the file its old name and content, or {ADVICE}"
            )


def _documents(signed: list[StageReport]) -> np.ndarray:
    """Hashes of the documents' texts."""
    found = [np.fromfile(stores.here(report.artifacts["content"]), "<u8") for report in signed]
    return np.concatenate([np.empty(0, "<u8"), *found])
