"""Target profiles ship complete, can be edited, and say clearly what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_monitor.errors import ConfigurationError
from rag_monitor.metrics.targets import (
    check_targets,
    load_profile,
    parse_profile,
    shipped_profiles,
)


@pytest.mark.parametrize(
    ("profile", "metric", "value", "met"),
    [
        ("rag", "retrieval_precision", 0.80, True),
        ("rag", "retrieval_recall", 0.74, False),
        ("rag", "retrieval_f1", 0.77, True),
        ("rag", "bleu_4", 0.29, False),
        ("rag", "rouge_l", 0.35, True),
        ("rag", "meteor", 0.25, True),
        ("product-titles", "bleu_4", 0.7, True),
        ("contracts", "bleu_4", 0.84, False),
        ("financial-summaries", "rouge_l", 0.8, True),
        ("minutes", "rouge_l", 0.74, False),
        ("chat", "perplexity", 50.0, True),
        ("marketing-copy", "perplexity", 31.0, False),
        ("code", "perplexity", 40.0, True),
        ("medical", "bertscore_f1", 0.89, False),
        ("knowledge-base-qa", "bertscore_f1", 0.85, True),
        ("multilingual-service", "bertscore_f1", 0.8, True),
        ("abstracts", "bertscore_f1", 0.91, True),
    ],
)
def test_every_published_target_ships(profile: str, metric: str, value: float, met: bool) -> None:
    results = check_targets(load_profile(profile), {metric: value})

    assert [result.met for result in results if result.target.metric == metric] == [met]


def test_a_metric_the_report_lacks_is_neither_met_nor_missed() -> None:
    (result,) = check_targets(load_profile("chat"), {})

    assert result.met is None


def test_every_shipped_profile_has_both_titles() -> None:
    for name in shipped_profiles():
        profile = load_profile(name)
        assert profile.title
        assert any("一" <= character <= "鿿" for character in profile.title_zh)


def test_a_profile_of_ones_own_loads_by_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('title = "Mine"\n[[target]]\nmetric = "rouge_l"\nat_least = 0.5\n')

    assert load_profile(str(path)).targets[0].bound == "≥ 0.5"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = ", "not valid TOML"),
        ("title = 'x'", "at least one"),
        ("[[target]]\nat_least = 1", "name the metric"),
        ("[[target]]\nmetric = 'a'\nat_least = 1\nat_most = 2", "either at_least or at_most"),
        ("[[target]]\nmetric = 'a'\nat_least = 'high'", "as a number"),
        ("[[target]]\nmetric = 'a'\nat_least = 1\nweight = 2", "unknown key 'weight'"),
    ],
)
def test_a_wrong_profile_says_what_to_mend(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        parse_profile("p", text)


def test_an_unknown_profile_names_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'minutes'"):
        load_profile("minute")
