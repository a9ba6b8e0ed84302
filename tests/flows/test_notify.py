"""Who is notified of a run that failed, and of documents in quarantine."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from corpora import request
from flow_runs import Run
from prefect.blocks.notifications import CustomWebhookNotificationBlock


@contextmanager
def listener() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A web server on this machine; its address and what was posted to it."""
    heard: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", heard
    finally:
        server.shutdown()


def test_failures_and_quarantine_are_reported_to_the_block_that_is_named(tmp_path: Path) -> None:
    """A nightly run that fails in silence is found a week later."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.jsonl").write_text('{"id": "a", "text": "fine"}\n{"id": "b", "text": 7}\n')
    execution = {"work": str(tmp_path / "work"), "workers": 1, "notify": "custom-webhook/ops"}
    with listener() as (url, heard):
        data = {"subject": "{{subject}}", "body": "{{body}}"}
        CustomWebhookNotificationBlock(name="ops", url=url, json_data=data).save("ops")
        assert Run(request(tmp_path, max_quarantined_share=0.1, execution=execution)).state.is_failed()
        assert len(heard) == 1
        made = Run(request(tmp_path, max_quarantined_share=0.5, execution=execution))
    assert made.state.is_completed()
    assert [message["subject"] for message in heard] == ["prepare test-g1: Failed", "test: 1 documents in quarantine"]
    assert "1 of 2 documents (50.0%) cannot be used" in heard[0]["body"]
    assert heard[1]["body"] == "non_string_text 1"
