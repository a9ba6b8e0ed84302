"""How the work is carried out: how many processes, where, with what patience. Nothing here changes a byte."""

import os
from typing import Literal, Self

from pydantic import ByteSize, ConfigDict, Field, model_validator

from gristmill.errors import ConfigError
from gristmill.settings import Location, Settings
from gristmill.storage import s3_client, stores
from gristmill.storage.s3_client import S3Settings

WORKERS = "GRISTMILL_WORKERS"
MEMORY = "GRISTMILL_MEMORY_GB"
"""Environment variables that bound ``workers: 0`` on a machine; a deployment's job variables set them."""

WORKER_GB = 1.5
"""Memory of a worker at its largest: a search for duplicates (docs/scaling.md)."""


class Execution(Settings):
    """How the work is carried out. Nothing here changes a byte of the output."""

    model_config = ConfigDict(title="Execution")

    workers: int = Field(0, ge=0, le=4096, description="Processes that do CPU work at once; 0: one a core.")
    downloads: int = Field(
        0, ge=0, le=4096, description="Remote inputs fetched at once, beside the workers; 0: they share the workers."
    )
    uploads: int = Field(
        0, ge=0, le=4096, description="Files published at once, beside the workers; 0: they share the workers."
    )
    memory: ByteSize = Field(
        ByteSize(2_000_000_000),
        ge=1000,
        description="Bytes that a worker may take to search for duplicates, as a number or like 2GB; what would need "
        "more is done in parts and through files.",
    )
    work: Location = Field(
        "work",
        description="Folder or s3:// prefix for what stages leave for one another; kept, so that a rerun resumes.",
    )
    work_files: Literal["plain", "lz4"] | None = Field(
        None,
        description="How text is kept in the work area: plain takes less time, lz4 half the space. "
        "Default: plain on disk, lz4 in S3.",
    )
    retries: int = Field(3, ge=0, le=20, description="How often a task is tried again after a storage error.")
    shard_seconds: float | None = Field(None, gt=0, description="Kill and retry a stage that takes longer than this.")
    runner: Literal["local", "dask", "ray", "work_pool"] = Field(
        "local",
        description="Where shards are worked on: this machine, the workers of a Dask or Ray cluster, or runs of the "
        "deployment batch that the workers of its pool pick up. All but local need an s3:// or shared work area.",
    )
    address: str = Field(
        "",
        description="Of the Dask scheduler (tcp://HOST:8786) or Ray cluster (HOST:6379, auto; without one the run "
        "starts a Ray of its own); of work_pool: FLOW/DEPLOYMENT.",
    )
    shards_per_task: int = Field(
        0, ge=0, description="Shards worked on one after another in a task run; 0: 1, more above 1,000 shards."
    )
    shards_per_run: int = Field(100, ge=1, description="Shards that one run of a work pool gets.")
    notify: str = Field(
        "", description="Prefect notification block, TYPE/NAME, told of failed runs and quarantined documents."
    )
    s3: S3Settings | None = Field(
        None, title="S3", description="How S3 is reached; default: the environment. Keys only ever come from there."
    )

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if self.runner == "dask" and not self.address:
            raise ConfigError("execution: runner: dask needs the scheduler's address, such as tcp://HOST:8786")
        return self

    def apply(self) -> None:
        """Put what is said of S3 in force, in this process and those that it starts."""
        if self.s3 is not None and s3_client.in_force() != self.s3:
            s3_client.use(self.s3)

    def kept(self) -> Literal["plain", "lz4"]:
        """``work_files``, or what suits the work area."""
        return self.work_files or ("lz4" if stores.is_remote(self.work) else "plain")

    def worker_count(self) -> int:
        """``workers``, or one a core, as far as the environment allows; at least one."""
        if self.workers:
            return self.workers
        cores = len(os.sched_getaffinity(0))
        allowed = _number(WORKERS) or cores
        fitting = _number(MEMORY) / WORKER_GB or cores
        return max(1, int(min(cores, allowed, fitting)))


def _number(variable: str) -> float:
    """An environment variable, 0 where it is not set. Raises ``ConfigError``."""
    text = os.environ.get(variable) or "0"
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"environment variable {variable}: {text!r} is not a number") from None
