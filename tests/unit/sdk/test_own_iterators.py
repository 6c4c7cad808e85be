"""Iterators of an application's own classes: handed on as they are, with a word in the log."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

import rag_monitor as rm
from rag_monitor.sdk.guard import GUARD
from rag_monitor.testing import InMemoryExporter


class Tokens:
    """A stream as many applications write it."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = iter(tokens)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return next(self.tokens)


@pytest.fixture(autouse=True)
def nothing_was_said() -> None:
    GUARD._logged_at.pop("iterator", None)


def test_an_iterator_of_an_own_class_is_given_back_and_the_log_says_why_the_answer_is_unknown(
    captured: InMemoryExporter, caplog: pytest.LogCaptureFixture
) -> None:
    tokens = Tokens("3.", "3")

    @rm.trace
    def answer(question: str) -> Tokens:
        return tokens

    with caplog.at_level(logging.WARNING, logger="rag_monitor.sdk"):
        given = answer("q")

    (record,) = captured.records
    assert given is tokens
    assert list(given) == ["3.", "3"]
    assert "answer" not in record
    assert record["metadata"]["answer_type"] == "Tokens"
    assert "answer returned an iterator of class Tokens" in caplog.text


def test_of_one_that_is_yielded_from_the_answer_is_known_and_nothing_is_said(
    captured: InMemoryExporter, caplog: pytest.LogCaptureFixture
) -> None:
    @rm.trace
    def answer(question: str) -> Iterator[str]:
        yield from Tokens("3.", "3")

    with caplog.at_level(logging.WARNING, logger="rag_monitor.sdk"):
        list(answer("q"))

    assert captured.records[0]["answer"] == "3.3"
    assert caplog.text == ""
