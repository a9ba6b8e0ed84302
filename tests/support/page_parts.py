"""What a page is made from, and the page taken apart by the standard library's parser."""

from html.parser import HTMLParser
from typing import Any

import msgspec

from gristmill.reporting.figures import Figures

VOID = {"meta", "br", "hr", "img", "link", "input", "line", "rect"}


def figures(**changes: Any) -> Figures:
    plain = Figures(
        documents={"read": 5, "usable": 4, "cleaned": 4, "deduplicated": 3, "published": 3},
        characters={"usable": 900, "cleaned": 500, "deduplicated": 400, "published": 400},
        lengths={16: 1, 32: 2},
        clusters={2: 1},
        scripts={"Latin": 380, "Han": 20},
        sampled=4,
        languages={"de": {"documents": 1, "characters": 300}, "en": {"documents": 3, "characters": 200}},
        packing={
            "nanogpt": {"ids": 90, "placed": 90, "left": 0},
            "parquet_rows": {
                "documents": 3,
                "whole": 2,
                "absent": 0,
                "rows": 4,
                "ids": 90,
                "placed": 60,
                "cropped": 20,
                "left": 10,
                "padding": 40,
            },
        },
    )
    return msgspec.structs.replace(plain, **changes)


class Parsed(HTMLParser):
    """Every tag with its attributes, every text, the headings, and the tags that were never closed."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.headings: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.crossed: list[str] = []
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.crossed.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self.open and self.open[-1] in ("h1", "h2", "h3"):
            self.headings.append((self.open[-1], data))

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]
