"""verify: published bytes against the manifest."""

from prefect import task
from prefect.artifacts import create_markdown_artifact

from gristmill.errors import VerificationError
from gristmill.inspection import verify as stage
from gristmill.processes import pool
from gristmill.reporting.tables import escape
from tasks.run import OPTIONS, tag


@task(name="verify", task_run_name="verify", **OPTIONS)
def verify_output(output: str) -> dict[str, int]:
    """Check every file; raises ``VerificationError`` with the first problem after all are recorded."""
    tag("verify")
    found = pool.call(stage.verify, output=output)
    lines = [f"{found.files:,} files, {found.documents:,} documents, {found.tokens:,} ids, {found.bytes:,} bytes", ""]
    lines += [f"- {escape(problem)}" for problem in found.problems] or ["All as recorded."]
    create_markdown_artifact("\n".join(lines), key="verification", description=f"Verification of {escape(output)}")
    if found.problems:
        raise VerificationError(f"{len(found.problems)} problems; the first: {found.problems[0]}")
    return {"files": found.files, "documents": found.documents, "tokens": found.tokens, "bytes": found.bytes}
