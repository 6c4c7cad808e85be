"""Metrics have a name for people in both languages, wherever they are named."""

from __future__ import annotations

import pytest

from rag_monitor.domain.rollup import LATENCY_METRICS
from rag_monitor.metrics.names import METRIC_NAMES, with_display_names
from rag_monitor.metrics.rag import METRICS
from tests.unit.i18n.extraction import catalogue


def test_every_metric_that_a_rule_can_watch_has_a_name_in_both_languages() -> None:
    assert set(METRIC_NAMES) >= {*METRICS, *LATENCY_METRICS}
    assert set(METRIC_NAMES.values()) <= {key.msgid for key in catalogue("zh")}


@pytest.mark.parametrize(
    ("sentence", "spoken"),
    [
        ("a 的 faithfulness 从 0.93 降到 0.71", "a 的忠实度（faithfulness）从 0.93 降到 0.71"),
        ("a 的 end_to_end_ms p95 为 9 s", "a 的端到端（end_to_end_ms）p95 为 9 s"),
        (
            "无法判断 a 的 answer_relevance：已评审 3 条",
            "无法判断 a 的回答切题度（answer_relevance）：已评审 3 条",
        ),
    ],
)
def test_a_chinese_sentence_says_both_names(sentence: str, spoken: str) -> None:
    assert with_display_names(sentence, "zh") == spoken


@pytest.mark.parametrize(
    ("sentence", "spoken"),
    [
        ("context_precision of a fell from", "Context precision of a fell from"),
        ("p95 of end_to_end_ms in a is 9 s", "p95 of End to end in a is 9 s"),
    ],
)
def test_an_english_sentence_says_the_name_of_the_pages(sentence: str, spoken: str) -> None:
    assert with_display_names(sentence, "en") == spoken


def test_a_page_says_the_name_alone() -> None:
    assert (
        with_display_names("a 的 faithfulness 从 0.9", "zh", own_name=False) == "a 的忠实度从 0.9"
    )
    assert (
        with_display_names("a 的 end_to_end_ms p95 为 9 s", "zh", own_name=False)
        == "a 的端到端 p95 为 9 s"
    )
    assert (
        with_display_names("faithfulness of a fell", "en", own_name=False)
        == "Faithfulness of a fell"
    )


@pytest.mark.parametrize("app", ["faithfulness-test", "my_faithfulness", "x.faithfulness", "a/b"])
def test_an_application_keeps_its_name(app: str) -> None:
    assert with_display_names(f"{app} 在 1 小时内", "zh") == f"{app} 在 1 小时内"
    assert with_display_names(f"{app} sent 3 traces", "en") == f"{app} sent 3 traces"
