"""Whether the server of a data set in S3 answers, asked before work that would be tried for a minute in silence."""

import shlex

from gristmill.errors import ConfigError, StorageError
from gristmill.storage.s3_client import VARIABLE, S3Settings, failures, in_force, meaning, once, status_of
from gristmill.storage.s3_keys import parts_of

SECONDS = 5.0
"""Longest wait for a first answer."""

REMEDY = f"for another server set AWS_ENDPOINT_URL=https://HOST, or {VARIABLE} as the run printed it at its end"


def check_reached(uri: str) -> None:
    """One request. Raises ``StorageError`` that names the server where it does not answer in time, ``ConfigError``
    where it has no such bucket or the keys are missing. A folder needs no asking."""
    if not uri.startswith("s3://"):
        return
    bucket, _ = parts_of(uri)
    asked = once(in_force(), SECONDS)
    where = f"{uri}: {asked.meta.endpoint_url}"
    try:
        asked.head_bucket(Bucket=bucket)
    except failures() as error:
        if status_of(error) == 404:
            raise ConfigError(f"{where}: no bucket {bucket!r} there; {REMEDY}") from None
        if status_of(error):
            return  # it answers; whether the keys open what is wanted, the work itself will tell
        found = meaning(error, where)
        raise type(found)(f"{found}; {REMEDY}" if isinstance(found, StorageError) else str(found)) from None


def variable(settings: S3Settings | None) -> str:
    """What stands before a command in a shell that shall reach S3 as ``settings`` say; empty where they say nothing."""
    said = "" if settings is None else settings.model_dump_json(exclude_defaults=True)
    return f"{VARIABLE}={shlex.quote(said)} " if said.strip("{}") else ""
