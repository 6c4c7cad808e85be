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
    [("2024-03-01", "2024-11-02"), ("2024年3月1日", "2024年11月2日"), (1709251200, 1730505600)],
)
def test_dates_in_any_form_order_passages(older: object, newer: object) -> None:
    pair = _ages(older, newer).of(0, 1)

    assert pair is not None
    assert pair[0] < pair[1]


def test_passages_of_one_age_are_in_no_order() -> None:
    assert _ages("2024-03-01", "2024-03-01").of(0, 1) is None
    assert _ages("2024-03-01", None).of(0, 1) is None


def test_a_text_of_thousands_of_digits_is_read() -> None:
    assert _ages("9" * 5000, "2024-03-01").of(0, 1) is not None
