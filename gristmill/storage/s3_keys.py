"""URIs of objects, ``s3://bucket/key``: the key is literal, whatever characters it has."""

from gristmill.addresses import has_user
from gristmill.errors import ConfigError

KEY_BYTES = 1024
"""Longest key that S3 takes, in UTF-8."""

KEYS_IN_ADDRESS = "an S3 address has no keys in it; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile"


def parts_of(uri: str) -> tuple[str, str]:
    """Bucket and key, the key as it stands; raises ``ConfigError`` for what is no such URI."""
    if has_user(uri):
        raise ConfigError(f"{uri}: {KEYS_IN_ADDRESS}")
    scheme, _, rest = uri.partition("://")
    bucket, _, key = rest.partition("/")
    if scheme != "s3" or not bucket:
        raise ConfigError(f"{uri!a}: expected s3://BUCKET/KEY")
    return bucket, key


def made_parts(uri: str) -> tuple[str, str]:
    """Bucket and key of an object that we make; raises ``ConfigError`` for a key that another store, or a disk, would
    take for a different place."""
    bucket, key = parts_of(uri)
    if any(part in ("", ".", "..") for part in key.split("/")) or not key.isprintable():
        raise ConfigError(f"{uri!a}: a key of ours has no empty, '.' or '..' part and no control character")
    if len(key.encode()) > KEY_BYTES:
        raise ConfigError(f"{uri:.80}...: a key has at most {KEY_BYTES:,} bytes")
    return bucket, key


def folder_of(key: str) -> str:
    """What the keys below a folder start with; empty for the whole bucket."""
    return f"{key.rstrip('/')}/" if key else ""
