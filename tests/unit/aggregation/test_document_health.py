"""Shares with intervals, and which documents a list names."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest

from rag_monitor.aggregation.document_health import (
    is_harmful,
    is_noisy,
    is_stale,
    report,
    with_info,
)
from rag_monitor.domain.document import (
    SHARES,
    ConflictCounts,
    DocumentCounts,
    DocumentInfo,
    DocumentKey,
    DocumentKind,
    ShareSums,
)

NOW = datetime(2026, 6, 1, tzinfo=UTC)
TOTAL = DocumentKey("", DocumentKind.ALL, "")


def key(name: str) -> DocumentKey:
    return DocumentKey("prices", DocumentKind.ID, name)


def sums(yes: int, of: int, weight: float = 1.0) -> ShareSums:
    return ShareSums(count=of, weight=of * weight, total=yes * weight, squares=of * weight * weight)


def rows(
    name: str,
    *,
    useful: tuple[int, int] = (0, 0),
    fault: tuple[int, int] = (0, 0),
    judge: str = "llm/m",
) -> list[DocumentCounts]:
    of = key(name) if name else TOTAL
    shares = dict.fromkeys(SHARES, ShareSums()) | {
        "useful": sums(*useful),
        "at_fault": sums(*fault),
    }
    seen = max(useful[1], fault[1])
    return [
        DocumentCounts(
            key=of, app="shop", judge="", retrieved=seen, ranks=2 * seen, in_context=seen
        ),
        DocumentCounts(key=of, app="shop", judge=judge, shares=shares),
    ]


def test_shares_are_weighted_and_their_interval_counts_effective_traces() -> None:
    heavy, light = sums(10, 10, 4.0), sums(0, 30)
    both = heavy.plus(light)
    of = key("a")
    counts = [
        DocumentCounts(key=of, app="shop", judge="", retrieved=40, ranks=60, in_context=40),
        DocumentCounts(key=of, app="shop", judge="llm/m", shares={"useful": both}),
    ]

    [found] = report(counts).documents

    assert found.mean_rank == 1.5
    share = found.shares["useful"]
    assert share.value == pytest.approx(40 / 70)
    assert both.effective == pytest.approx(70 * 70 / (160 + 30))
    assert share.lower is not None
    assert share.lower < 0.42, "wider than 40 traces of one weight"


def test_the_judge_with_most_verdicts_answers_and_of_equals_one_that_is_not_embedded() -> None:
    one = rows("a", useful=(5, 10), judge="embedded/m")
    other = rows("a", useful=(9, 10), judge="llm/m")[1:]
    more = rows("a", useful=(0, 20), judge="tiny/m")[1:]

    assert report([*one, *other]).judge == "llm/m"
    found = report([*one, *other, *more])
    assert (found.judge, found.documents[0].shares["useful"].value) == ("tiny/m", 0)


def test_noisy_needs_enough_verdicts_that_agree() -> None:
    found = report([*rows("few", useful=(0, 19)), *rows("noisy", useful=(1, 20)),
                    *rows("fair", useful=(3, 20))])  # fmt: skip

    assert [d.key.document for d in found.documents if is_noisy(d)] == ["noisy"]


def test_a_document_in_more_answers_at_fault_than_others_is_harmful() -> None:
    counts = [
        *rows("", fault=(100, 1000)),
        *rows("harmful", fault=(40, 80)),
        *rows("usual", fault=(8, 80)),
        *rows("few", fault=(15, 19)),
    ]

    found = {d.key.document: d for d in report(counts).documents}

    assert [name for name, one in found.items() if is_harmful(one)] == ["harmful"]
    assert found["few"].excess is None


def test_among_many_documents_without_harm_hardly_any_is_listed() -> None:
    """A third of 300 would have a p below .05 by chance in no run; unadjusted, some fifteen do."""
    chance = random.Random(7)
    listed = 0
    for _ in range(20):
        faults = [sum(chance.random() < 0.2 for _ in range(50)) for _ in range(300)]
        counts = rows("", fault=(sum(faults), 15_000))
        for number, at_fault in enumerate(faults):
            counts += rows(f"d{number}", fault=(at_fault, 50))
        listed += any(is_harmful(d) for d in report(counts).documents)
    assert listed <= 3


def test_the_rest_is_counted_and_on_no_list() -> None:
    rest = DocumentCounts(
        key=DocumentKey("prices", DocumentKind.REST, ""), app="shop", judge="", retrieved=7
    )

    found = report([*rows("a", useful=(1, 2)), rest])

    assert ([d.key.document for d in found.documents], found.rest) == (["a"], 7)


@pytest.mark.parametrize(
    ("info", "outdated", "stale"),
    [
        (DocumentInfo(updated_at="2025-06-01"), 0, True),
        (DocumentInfo(updated_at="2025-06-02"), 0, False),
        (DocumentInfo(updated_at="2020-01-01", effective_date="2026-05-01"), 0, False),
        (DocumentInfo(effective_date="2027-01-01", updated_at="2020-01-01"), 0, True),
        (DocumentInfo(), 0, False),
        (DocumentInfo(), 2, True),
        (DocumentInfo(), 1, False),
    ],
)
def test_stale_by_its_date_or_by_newer_documents(
    info: DocumentInfo, outdated: int, stale: bool
) -> None:
    pair = ConflictCounts(
        used=key("a"), other=key("b"), traces=outdated, outdated=outdated, trace_id=""
    )
    [found] = report(rows("a", useful=(3, 5)), [pair]).documents

    assert is_stale(with_info(found, info, NOW)) is stale
