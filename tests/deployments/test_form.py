"""The form of `prepare`, as somebody who never saw the code fills it in, in a browser."""

import json
from pathlib import Path

from browser import field, opened, shoot, submit
from stack import Stack

from gristmill.config import PrepareConfig


def test_the_form_starts_a_run_that_can_be_watched(stack: Stack, small_corpus: Path) -> None:
    """A form that shows only kinds, or sends what the server or the flow refuses, lets nobody start."""
    output = stack.folder / "from-the-form"
    with opened(stack) as page:
        page.goto(f"{stack.page}/v2/deployments/deployment/{stack.deployment('prepare')['id']}/run")
        page.get_by_label("Dataset (Optional)").fill("from-the-form")
        page.get_by_role("tab", name="files", exact=True).click()
        field(page, "Paths").get_by_role("button", name="Add item").click()
        field(page, "Paths").get_by_role("textbox").fill("data/web/*.jsonl.gz")  # for the picture in the docs
        shoot(page, "form")
        field(page, "Paths").get_by_role("textbox").fill(str(small_corpus))
        page.get_by_label("Vocab Size (Optional)").fill("300")
        page.get_by_label("Output (Optional)").fill(str(output))
        page.get_by_label("Work (Optional)").fill(str(stack.folder / "work-of-the-form"))
        submit(page)
        run = stack.flow_run(page.url.partition("/flow-run/")[2][:36])
        stack.completed(run["id"])
        page.get_by_text("Completed").first.wait_for()
        shoot(page, "run")
        page.get_by_role("tab", name="Artifacts").click()
        page.get_by_text("corpus-report").first.click()
        page.get_by_text("60 documents").or_(page.get_by_role("heading", name="from-the-form")).first.wait_for()
        shoot(page, "report")
    sent = run["parameters"]["config"]
    assert PrepareConfig.model_validate(sent).sources[0].kind() == "files"
    assert [rule["kind"] for rule in sent["cleaning"]] == ["unicode", "control", "whitespace"]
    assert json.loads((output / "manifest.json").read_text())["tokenizer"]["vocab_size"] == 300
