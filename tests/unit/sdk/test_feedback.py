"""What `rm.feedback` takes, and what becomes of the rest."""

from __future__ import annotations

import logging

import pytest

import rag_monitor as rm
from rag_monitor.sdk.guard import GUARD
from rag_monitor.testing import InMemoryExporter

TRACE = "a" * 32


@pytest.mark.parametrize(
    ("value", "scale", "sent"),
    [
        (True, None, True),
        (False, None, False),
        ("up", None, "up"),
        ("thumbs_down", None, "thumbs_down"),
        (0.25, None, 0.25),
        (1, None, 1),
        (4, 5, 4),
    ],
)
def test_every_form_is_sent_as_it_is_given(
    captured: InMemoryExporter, value: bool | float | str, scale: int | None, sent: object
) -> None:
    rm.feedback(TRACE, value, scale=scale)

    (note,) = captured.feedback
    expected = {"trace_id": TRACE, "value": sent} | ({} if scale is None else {"scale": scale})
    assert note == expected
    assert type(note["value"]) is type(sent)


@pytest.mark.parametrize(
    ("value", "scale", "taken"),
    [
        (4, None, "needs its `scale`"),
        ("good", None, '"thumbs_up"'),
        (-1, None, '"thumbs_up"'),
        (float("nan"), None, '"thumbs_up"'),
        (None, None, '"thumbs_up"'),
        (6, 5, "a number from 1 to 5"),
        (True, 5, "a number from 1 to 5"),
        (3, 1, "from 2 to 100"),
    ],
)
def test_a_wrong_form_is_counted_and_the_log_says_what_is_taken(
    captured: InMemoryExporter,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    value: object,
    scale: int | None,
    taken: str,
) -> None:
    monkeypatch.setattr(GUARD, "_logged_at", {})
    monkeypatch.setattr(GUARD, "strict", False)
    with caplog.at_level(logging.WARNING, "rag_monitor.sdk"):
        rm.feedback(TRACE, value, scale=scale)  # type: ignore[arg-type]

    assert captured.feedback == []
    stats = rm.stats()
    assert stats["dropped"] == {"invalid_feedback": 1}
    assert (stats["produced"], stats["delivered"], stats["waiting"]) == (1, 0, 0)
    (record,) = caplog.records
    assert taken in record.getMessage()


def test_a_value_that_raises_does_not_reach_the_host(
    captured: InMemoryExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hostile:
        def __getattribute__(self, name: str) -> object:
            raise RuntimeError(name)

    monkeypatch.setattr(GUARD, "strict", False)
    rm.feedback(TRACE, Hostile())  # type: ignore[arg-type]

    assert captured.feedback == []
    assert rm.stats()["dropped"] == {"invalid_feedback": 1}


def test_a_correction_comes_with_it(captured: InMemoryExporter) -> None:
    rm.feedback(
        TRACE, "down", comment="no", corrected_answer="4.5 %", correct_document_ids=["rates", 7]
    )

    assert captured.feedback == [
        {
            "trace_id": TRACE,
            "value": "down",
            "comment": "no",
            "corrected_answer": "4.5 %",
            "correct_document_ids": ["rates", "7"],
        }
    ]
