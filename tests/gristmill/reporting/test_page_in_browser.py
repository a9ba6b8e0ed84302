"""The page in a real browser, offline, in light and dark, as it would be opened from a mail."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from manifests import loss, manifest, rule_record, source_shard
from page_parts import figures
from playwright.sync_api import Browser, Page, expect, sync_playwright

from gristmill.reporting.page import page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
HOSTILE = "</td><script>document.title = 'taken'</script><img src='http://127.0.0.1:9/x' onerror=alert(1)>"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium or google-chrome on PATH")

CONTRAST = """selector => {
  const channel = value => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const light = colour => {
    const [red, green, blue] = colour.match(/[0-9.]+/g).map(Number).map(channel);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll(selector)].map(element => {
    const ink = light(getComputedStyle(element).fill);
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  });
}"""


class Opened:
    """A page that is open, and all that it asked for or complained of."""

    def __init__(self, tab: Page, path: Path) -> None:
        self.tab = tab
        self.requests: list[str] = []
        self.complaints: list[str] = []
        tab.on("request", lambda request: self.requests.append(request.url))
        tab.on("console", lambda message: self.complaints.append(message.text))
        tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        tab.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        tab.goto(path.as_uri())


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with every section, and hostile names in them."""
    found = manifest(
        rules=[rule_record(rule=HOSTILE)],
        source_shards=[source_shard(index=number, uri=f"{HOSTILE}{number}") for number in range(60)],
        dropped={"too_short": 3, "duplicate_exact": 7, HOSTILE: 1},
        losses=[loss(reason=HOSTILE), loss(stage="dedup", rule="exact", reason="duplicate_exact", documents=7)],
    )
    samples: list[dict[str, object]] = [{"rule": "length", "reason": "too_short", "text begins": HOSTILE}]
    path = tmp_path_factory.mktemp("page") / "index.html"
    path.write_bytes(page(found, figures(), samples, [{"reason": HOSTILE, "input": "a.jsonl"}]))
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(params=["light", "dark"])
def opened(browser: Browser, file: Path, request: pytest.FixtureRequest) -> Iterator[Opened]:
    settings: dict[str, Any] = {"color_scheme": request.param, "viewport": {"width": 1000, "height": 900}}
    context = browser.new_context(offline=True, **settings)
    yield Opened(context.new_page(), file)
    context.close()


def test_it_asks_for_nothing_and_runs_nothing(opened: Opened, file: Path) -> None:
    opened.tab.wait_for_load_state("networkidle")
    assert opened.requests == [file.as_uri()]
    assert opened.complaints == []
    assert opened.tab.title() == "demo: report"
    assert opened.tab.locator("script, img").count() == 0


def test_it_is_readable_by_all(opened: Opened) -> None:
    """Contrast, names of regions and pictures, order of headings, cells of tables: what axe can tell."""
    found = Axe().run(opened.tab).response
    assert len(found["passes"]) > 10
    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in found["violations"]] == []
    levels = opened.tab.eval_on_selector_all("h1, h2, h3", "all => all.map(heading => heading.tagName)")
    assert levels == ["H1"] + ["H2"] * 14


def test_charts_can_be_seen(opened: Opened) -> None:
    """axe leaves drawings out: 4.5 to 1 for words and 3 to 1 for shapes (WCAG 2.2, 1.4.3 and 1.4.11)."""
    words: list[float] = opened.tab.evaluate(CONTRAST, "svg text")
    shapes: list[float] = opened.tab.evaluate(CONTRAST, "svg .bars rect, svg .columns rect")
    assert len(words) > 20
    assert min(words) >= 4.5
    assert min(shapes) >= 3


def test_the_two_schemes_differ(browser: Browser, file: Path) -> None:
    colours = set()
    for scheme in ("light", "dark"):
        context = browser.new_context(offline=True, color_scheme=scheme)
        tab = Opened(context.new_page(), file).tab
        colours.add(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
        context.close()
    assert len(colours) == 2


def test_the_keyboard_reaches_everything(opened: Opened) -> None:
    """The first stop leads past the contents, and tables that scroll can be scrolled."""
    opened.tab.keyboard.press("Tab")
    assert opened.tab.evaluate("document.activeElement.className") == "skip"
    opened.tab.keyboard.press("Enter")
    expect(opened.tab).to_have_url(re.compile("#main$"))
    tables = opened.tab.locator(".scroll")
    assert tables.count() == opened.tab.locator(".scroll[tabindex='0']").count() > 5


def test_a_narrow_screen_does_not_scroll_sideways(opened: Opened) -> None:
    opened.tab.set_viewport_size({"width": 360, "height": 700})
    assert opened.tab.evaluate("document.documentElement.scrollWidth") <= 360
