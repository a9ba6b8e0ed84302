"""The run in one page, from the manifest alone."""

from manifests import manifest, mixture, source_shard, token_file

from gristmill.reporting.summary import MOST_ROWS, summary


def test_the_page_gives_the_figures_of_the_manifest() -> None:
    page = summary(manifest())
    assert page == summary(manifest())
    for part in ("# demo", "5 documents in, 3 published: 99 tokens", "300 ids, uint16", "17 documents compared"):
        assert part in page
    assert "| web | cleaning | blank | blank | 1 | 5 | 20 | 20.00% | counted |" in page
    assert "| web | quarantine |  | json_syntax | 1 | 5 | 20 | 20.00% | mean |" in page
    assert page.endswith("\n")


def test_a_run_without_losses_says_so() -> None:
    page = summary(manifest(dropped={}, quarantined={}, losses=[]))
    assert "Every document was published, and no rule took anything out." in page


def test_a_run_that_published_nothing_still_has_a_page() -> None:
    assert "None." in summary(manifest(files=[]))


def test_a_very_large_run_says_what_is_not_shown() -> None:
    """An artifact of 100,000 rows would not open."""
    shards = [source_shard(index=number, uri=f"part-{number:05d}.jsonl") for number in range(1234)]
    page = summary(manifest(source_shards=shards))
    assert page.count(".jsonl |") == MOST_ROWS
    assert "1,184 more input shards are in manifest.json." in page


def test_a_missing_validation_file_is_pointed_out_unless_none_was_asked_for() -> None:
    """A trainer that opens val.bin would fail later; advice about it would mislead where nothing is held out."""
    only_train = [token_file()]
    assert "raise split.fraction" in summary(manifest(files=only_train))
    assert "raise split.fraction" not in summary(manifest())
    without = manifest(files=only_train, config={"sources": [], "split": {"kind": "none", "version": 1}})
    assert "raise split.fraction" not in summary(without)


def test_names_from_data_are_escaped() -> None:
    page = summary(manifest(source_shards=[source_shard(uri="<script>x</script>")]))
    assert "<script>" not in page


def test_a_mixture_is_shown_in_every_unit_and_a_source_above_half_of_it_is_warned_of() -> None:
    """The usual trap is a mixture by documents: one source then has most tokens, and nobody sees it."""
    shown = summary(mixture())
    assert "**Warning**: web: 90.0 % of the tokens of the mixture, over 50%." in shown
    assert "| web | 10 | 40,000 | 8,980 | 33.33% | 50.00% | 89.98% | 9,000 | 90.00% | -0.222% | 4 | 450 |" in shown
    assert "Mixture" not in summary(manifest())
