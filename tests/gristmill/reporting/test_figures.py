"""Figures of generations, added up."""

import msgspec
from page_parts import figures

from gristmill.reporting.figures import decoded, encoded, figures_name, total


def test_generations_add_up() -> None:
    """A page that speaks of the whole data set must count the first night as well."""
    one = figures(lengths={1: 2, 64: 5}, clusters={2: 1}, scripts={"Latin": 10}, sampled=3)
    two = figures(lengths={4: 1, 64: 1}, clusters={}, scripts={"Latin": 1, "Han": 7}, sampled=2)
    both = total([one, two])
    assert both.lengths == {1: 2, 4: 1, 64: 6}
    assert list(both.lengths) == [1, 4, 64]
    assert (both.clusters, both.scripts, both.sampled) == ({2: 1}, {"Han": 7, "Latin": 11}, 5)
    assert both.languages["en"] == {"documents": 6, "characters": 400}
    assert both.packing["parquet_rows"]["cropped"] == 40
    assert both.documents["read"] == 2 * one.documents["read"]
    assert both.characters["published"] == 2 * one.characters["published"]


def test_a_language_of_one_night_alone_is_counted() -> None:
    swedish = {"sv": {"documents": 2, "characters": 20}}
    both = total([figures(languages={}, packing={}), figures(languages=swedish)])
    assert both.languages == swedish
    assert list(both.packing) == ["nanogpt", "parquet_rows"]


def test_a_file_of_figures_reads_back() -> None:
    assert decoded(encoded(figures())) == figures()
    assert encoded(figures()) == encoded(decoded(encoded(figures())))
    assert figures_name(1) == "report/figures.json"
    assert figures_name(12) == "report/figures-g00012.json"


def test_figures_without_languages_and_packing_can_be_added_to() -> None:
    """Of a generation that was made before there were any: tonight's page must still be made."""
    lean = {
        name: value for name, value in msgspec.to_builtins(figures()).items() if name not in ("languages", "packing")
    }
    assert total([decoded(msgspec.json.encode(lean)), figures()]).languages == figures().languages
