"""A real browser on Prefect's pages: Chromium, as the system has it."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, sync_playwright
from stack import LOGIN, Stack

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
SCREENSHOTS = "GRISTMILL_SCREENSHOTS"
"""Environment variable that names a folder to which the tests save what they saw."""

QUIET = [
    "--no-sandbox",  # root has none
    "--disable-gpu",
    "--disable-background-networking",  # no calls to its maker
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@contextlib.contextmanager
def opened(stack: Stack) -> Iterator[Page]:
    """A page that is logged in; a failed script of the page fails the test."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.set_default_timeout(60_000)
        page.goto(f"{stack.page}/v2/login")
        page.locator("input").fill(":".join(LOGIN))
        page.keyboard.press("Enter")
        page.wait_for_url("**/dashboard**")
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        try:
            yield page
        finally:
            browser.close()
        assert problems == []


def field(page: Page, label: str) -> Locator:
    """The part of the form that has this label: its tabs, buttons and inputs."""
    return page.locator("div.group").filter(has=page.get_by_text(label, exact=True)).last


def submit(page: Page) -> None:
    """Press Submit until the run is accepted, and go to it: a busy SQLite has the server answer 503 now and then."""
    for _ in range(30):
        with page.expect_response("**/create_flow_run") as answer:
            page.get_by_role("button", name="Submit").click()
        if answer.value.ok:
            page.get_by_role("button", name="View run").click()
            page.wait_for_url("**/runs/flow-run/**")
            return
        page.wait_for_timeout(1000)
    raise AssertionError("the server refused the run thirty times")


def shoot(page: Page, name: str) -> None:
    """Save what is seen, where a folder is named for it."""
    if folder := os.environ.get(SCREENSHOTS):
        page.screenshot(path=Path(folder) / f"{name}.png")
