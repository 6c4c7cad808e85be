"""Which of two passages is newer."""

from __future__ import annotations

import pytest

from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.evaluation.passage_ages import PassageAges


def _ages(*updated: object) -> PassageAges:
    return PassageAges(
        [RetrievedDocument(content="Rent.", metadata={"updated_at": value}) for value in updated]
    )


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("2024-03-01", "2024-11-02"),
        ("2024-03-01T09:00:00Z", "2024-03-01T18:00:00+08:00"),
        ("2024年3月1日", "2024年11月2日"),
        (1709251200, 1730505600),
        (1709251200000, "2024-11-02"),
        ("31.12.2023", "01.03.2024"),
        ("12/31/2023", "3/1/2024"),
        ("31 December 2023", "1 March 2024"),
        ("Fri, 01 Mar 2024 08:00:00 GMT", "2 Nov 2024"),
    ],
)
def test_dates_in_any_form_order_passages(older: object, newer: object) -> None:
    pair = _ages(older, newer).of(0, 1)

    assert pair is not None
    assert pair[0] < pair[1]


def test_passages_of_one_age_are_in_no_order() -> None:
    assert _ages("2024-03-01", "2024-03-01").of(0, 1) is None
    assert _ages("2024-03-01", None).of(0, 1) is None


def test_versions_are_compared_number_by_number() -> None:
    documents = [
        RetrievedDocument(content="Rent.", metadata={"version": version})
        for version in ("1.9.2024", "1.10.2023")
    ]
    assert PassageAges(documents).of(0, 1) == ((1, 9, 2024), (1, 10, 2023))


def test_a_text_of_thousands_of_digits_is_read() -> None:
    assert _ages("9" * 5000, "2024-03-01").of(0, 1) is not None
