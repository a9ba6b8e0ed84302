"""Object stores that speak S3, in processes of their own: SeaweedFS keeps bytes and checks what it is sent; moto's
server is exact in keys and listings, and believes any checksum.

``bucket`` is an empty bucket of SeaweedFS, ``moto_bucket`` one of moto's server. Each server is started by the first
test that asks for it and ends with the tests, or with the process that runs them. Nothing of the AWS settings of
whoever runs the tests reaches a server, nor the reverse: while a test has a bucket, the environment of this process
and of those it starts holds made-up keys and the server's address alone.
"""

import contextlib
import ctypes
import hashlib
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gristmill.storage import s3, s3_client
from gristmill.storage.s3_client import S3Settings

ACCESS_KEY = "TESTKEYNOTSECRET0001"
SECRET_KEY = "test/secret+made-up-for-the-tests-0001"
REGION = "us-east-1"

_WEED_PORTS = ("master.port", "volume.port", "filer.port", "s3.port", "admin.port")
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_libc = ctypes.CDLL(None)


class Server:
    """A running server; ``kind`` is ``weed`` or ``moto``."""

    def __init__(self, kind: str, command: list[str], port: int, folder: Path) -> None:
        self.kind, self.endpoint = kind, f"http://127.0.0.1:{port}"
        self.log = folder / "server.log"
        # TMPDIR: SeaweedFS leaves a socket there; HOME: no settings of the user's
        plain = {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder)}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=folder, env={**plain, **keys()}, preexec_fn=_end_with_parent
            )
        self.client = client(self.endpoint)

    def wait_until_ready(self, seconds: float = 60) -> bool:
        """Until it stores an object; False when it ended instead, as for a port that another program took."""
        until = time.monotonic() + seconds
        while self.process.poll() is None:
            with contextlib.suppress(*s3_client.failures()):
                self.client.create_bucket(Bucket="ready")
                self.client.put_object(Bucket="ready", Key="ready", Body=b"ready")
                return True
            assert time.monotonic() < until, self.log.read_text()[-2000:]
            time.sleep(0.05)
        return False

    def stop(self) -> None:
        """At once: SeaweedFS takes 2 to 10 seconds to end tidily, and nothing of it is kept."""
        self.process.kill()
        self.process.wait()


class Bucket:
    """A bucket made empty; ``uri`` is ``s3://NAME``, ``client`` a plain botocore client that knows nothing of ours."""

    def __init__(self, server: Server, name: str = "") -> None:
        self.server, self.name, self.client = server, name or f"test-{secrets.token_hex(6)}", server.client
        self.uri = f"s3://{self.name}"
        self.client.create_bucket(Bucket=self.name)
        # SeaweedFS finds room for a bucket at its first object: 0.2 s for one, seconds for several at once
        self.put("first", b"x")
        self.client.delete_object(Bucket=self.name, Key="first")

    def remove(self) -> None:
        """All of it: SeaweedFS keeps volumes for every bucket, and the disk has room for so many."""
        for page in self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name):
            for entry in page.get("Contents", []):
                self.client.delete_object(Bucket=self.name, Key=entry["Key"])
        self.client.delete_bucket(Bucket=self.name)

    def put(self, key: str, data: bytes | str) -> None:
        self.client.put_object(Bucket=self.name, Key=key, Body=data)

    def get(self, key: str) -> bytes:
        body: bytes = self.client.get_object(Bucket=self.name, Key=key)["Body"].read()
        return body


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def put(data: bytes, uri: str, **settings: Any) -> s3.Stored:
    """``put_new`` with the sha256 that these bytes have."""
    return s3.put_new(data, uri, sha256(data), **settings)


def keys() -> dict[str, str]:
    return {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}


def client(endpoint: str) -> Any:
    """A botocore client that takes nothing from the environment but what is given here."""
    import botocore.session  # here: half a second that runs without a server save
    from botocore.config import Config

    return botocore.session.Session().create_client(
        "s3",
        region_name=REGION,
        endpoint_url=endpoint,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        config=Config(retries={"mode": "standard", "total_max_attempts": 3}, max_pool_connections=32),
    )


@contextlib.contextmanager
def reached(endpoint: str, **settings: Any) -> Iterator[S3Settings]:
    """This process and its children use the server at ``endpoint``, with these further settings, and made-up keys."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("AWS_", "FSSPEC_", s3_client.VARIABLE))]:
            patch.delenv(name)
        for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
            patch.setenv(name, os.devnull)
        chosen = S3Settings.model_validate({"endpoint": endpoint, "attempts": 3, "read_seconds": 20, **settings})
        environment = {**keys(), "AWS_DEFAULT_REGION": REGION, s3_client.VARIABLE: chosen.model_dump_json()}
        for name, value in environment.items():
            patch.setenv(name, value)
        s3_client.use(None)  # clients are built anew, from what the environment says
        try:
            yield chosen
        finally:
            s3_client.use(None)


@pytest.fixture(scope="session")
def weed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """SeaweedFS's all-in-one server."""
    yield from _running(lambda: _start_weed(tmp_path_factory.mktemp("weed")))


@pytest.fixture(scope="session")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """moto's server."""
    yield from _running(lambda: _start_moto(tmp_path_factory.mktemp("moto")))


@pytest.fixture
def bucket(weed: Server) -> Iterator[Bucket]:
    with reached(weed.endpoint):
        made = Bucket(weed)
        yield made
        made.remove()


@pytest.fixture
def moto_bucket(moto: Server) -> Iterator[Bucket]:
    with reached(moto.endpoint):
        yield Bucket(moto)


@pytest.fixture(params=["weed", "moto"])
def any_bucket(request: pytest.FixtureRequest) -> Bucket:
    """A test that asks for it runs on both servers."""
    found: Bucket = request.getfixturevalue({"weed": "bucket", "moto": "moto_bucket"}[request.param])
    return found


@contextlib.contextmanager
def served(folder: Path) -> Iterator[Bucket]:
    """A bucket of a SeaweedFS of its own that keeps its bytes in ``folder``, ``reached`` for as long."""
    with contextlib.contextmanager(_running)(lambda: _start_weed(folder)) as server, reached(server.endpoint):
        yield Bucket(server)


def _running(start: Any) -> Iterator[Server]:
    for _ in range(3):
        server = start()
        try:
            if server.wait_until_ready():
                yield server
                return
        finally:
            server.stop()
    raise AssertionError(f"the {server.kind} server ended: {server.log.read_text()[-2000:]}")


def _start_weed(folder: Path) -> Server:
    ports = dict(zip(_WEED_PORTS, _free_ports(len(_WEED_PORTS)), strict=True))
    command = [
        str(Path(sysconfig.get_path("scripts")) / "weed"),
        "mini",
        f"-dir={folder}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        "-master.telemetry=false",  # on by default
        "-admin.ui=false",
        "-webdav=false",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        *(f"-{name}={port}" for name, port in ports.items()),
    ]
    return Server("weed", command, ports["s3.port"], folder)


def _start_moto(folder: Path) -> Server:
    (port,) = _free_ports(1)
    return Server("moto", [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], port, folder)


def _free_ports(count: int) -> list[int]:
    """Ports that are free, as those 10,000 above are, where SeaweedFS listens as well. All lie below the range from
    which the system gives ports to clients."""
    found: list[int] = []
    while len(found) < count:
        port = random.SystemRandom().randrange(10_000, 22_000)
        if port not in found and _is_free(port) and _is_free(port + 10_000):
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _end_with_parent() -> None:
    """Even a killed run of the tests leaves no server behind (Linux)."""
    if sys.platform == "linux":
        _libc.prctl(_DIE_WITH_PARENT, signal.SIGKILL)
