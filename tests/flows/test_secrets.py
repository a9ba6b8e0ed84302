"""A run by Prefect over inputs behind a password or a signature leaves neither on the server."""

from pathlib import Path

import pytest
from flow_runs import Run
from guarded import CANARY, guarded, leaks
from guarded_runs import asked, inputs
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_DATABASE_CONNECTION_URL
from prefect.utilities.callables import parameter_schema
from prefect.utilities.schema_tools.validation import validate

from flows.prepare import prepare
from gristmill.errors import InputError


def test_a_run_leaves_no_secret_on_the_server(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The server keeps parameters, names, states, logs, artifacts and events of every run for all who may see it."""
    made = tmp_path / "made"
    inputs(tmp_path / "served")
    with guarded(tmp_path / "served") as server:
        run = Run(asked(made, server))
        assert run.state.is_completed()
        assert len(run.artifacts()) > 5
        damaged = {"kind": "files", "paths": [server.signed("c/cut.jsonl.gz"), server.with_password("c/cut.jsonl.gz")]}
        with pytest.raises(InputError, match=r"/c/cut.jsonl.gz: the gzip stream is cut"):
            Run(asked(tmp_path / "damaged", server, more=[damaged])).state.result()
        server.expired.add("canary%2Fsignature%2B1")
        with pytest.raises(InputError, match="made anew"):
            Run(asked(tmp_path / "expired", server)).state.result()
    with get_client(sync_client=True) as client:
        parameters = client.read_flow_run(run.identity).parameters
    assert parameters["config"]["sources"][0]["paths"][0].endswith("/a/x.jsonl.gz")
    database = Path(str(PREFECT_API_DATABASE_CONNECTION_URL.value()).partition("///")[2])
    assert all(CANARY not in path.read_bytes() for path in database.parent.glob(f"{database.name}*"))
    assert b"x.jsonl.gz" in b"".join(path.read_bytes() for path in database.parent.glob(f"{database.name}*"))
    captured = capfd.readouterr()
    assert "canary" not in captured.out + captured.err
    assert leaks(made, tmp_path / "damaged", tmp_path / "expired") == []


@pytest.mark.parametrize("address", ["https://ann:canary@host/x.jsonl", "https://host/x.jsonl?X-Amz-Signature=canary"])
def test_the_server_refuses_to_keep_a_secret_that_is_typed(address: str) -> None:
    """Parameters are stored before a line of ours runs: what a form or an API call gives must be refused there."""
    schema = parameter_schema(prepare).model_dump_for_openapi()

    def refused(path: str) -> bool:
        sources = [{"kind": "files", "paths": [path]}]
        return bool(validate({"config": {"sources": sources}}, schema, preprocess=False))

    assert refused(address)
    for path in ("data", "https://host/x.jsonl", "https://ann:${LOGIN}@host/x.jsonl", "https://host/x.jsonl?s=${SIGN}"):
        assert not refused(path)
