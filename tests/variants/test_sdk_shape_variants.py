"""Passages, streams and results as clients of databases and models give them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import rag_monitor as rm
from rag_monitor.testing import InMemoryExporter
from tests.variants import shapes

QUESTION = "周末几点开门？"


@pytest.fixture
def captured() -> Iterator[InMemoryExporter]:
    with InMemoryExporter(app="variants", interval_s=0.05) as exporter:
        yield exporter


def _retrieve(documents: Any, captured: InMemoryExporter) -> shapes.Passages | None:
    @rm.trace
    def handle(question: str) -> str:
        with rm.retrieval(knowledge_base="kb") as found:
            found.documents = documents
        return "ok"

    handle(QUESTION)
    return shapes.passages_of(captured.records[0])


class TestS06PassagesAsClientsGiveThem:
    """Ids and texts in order; nothing recalled is known, not unknown."""

    @pytest.mark.parametrize("name", shapes.documents())
    def test_of_vector_databases(self, captured: InMemoryExporter, name: str) -> None:
        given, wanted = shapes.documents()[name]

        assert _retrieve(given, captured) == wanted

    @pytest.mark.parametrize(
        "name",
        ["frame with a text column", "frame with page_content alone",
         "records of a frame", "array of texts", "array of objects", "series of texts",
         "near miss: an empty frame"],
    )  # fmt: skip
    def test_of_numpy_and_pandas(self, captured: InMemoryExporter, name: str) -> None:
        pytest.importorskip("pandas", reason="needs pandas")
        given, wanted = shapes.tables()[name]

        assert _retrieve(given, captured) == wanted


class TestS07TextOfStreamsAndResults:
    """The user's text, of whichever client the application passes on."""

    @pytest.mark.parametrize(
        ("pieces", "answer"),
        [
            ([{"x": 1}, {"y": [2]}], None),
            ([shapes.Made(steps=1)], None),
            ([], ""),
            (["", None], ""),
        ],
    )
    def test_pieces_in_no_known_shape_are_no_empty_answer(
        self, captured: InMemoryExporter, pieces: list[Any], answer: str | None
    ) -> None:
        @rm.trace
        def handle(question: str) -> Iterator[Any]:
            yield from pieces

        assert list(handle(QUESTION)) == pieces
        assert captured.records[0].get("answer") == answer

    @pytest.mark.parametrize(("piece", "answer"), [({"reply": ""}, ""), ({"other": ""}, None)])
    def test_pieces_whose_named_field_is_empty_are_an_empty_answer(
        self, captured: InMemoryExporter, piece: dict[str, str], answer: str | None
    ) -> None:
        @rm.trace(answer="reply")
        def handle(question: str) -> Iterator[Any]:
            yield piece

        list(handle(QUESTION))

        assert captured.records[0].get("answer") == answer

    def test_a_text_before_its_likelihood_is_no_name_of_a_kind(
        self, captured: InMemoryExporter
    ) -> None:
        @rm.trace
        def handle(question: str) -> Iterator[Any]:
            yield from [("The ", -0.1), ("status", -0.5), (" is ", -0.1), ("content", -0.9)]

        list(handle(QUESTION))

        assert captured.records[0]["answer"] == "The status is content"

    @pytest.mark.parametrize("name", shapes.pieces())
    def test_in_pieces(self, captured: InMemoryExporter, name: str) -> None:
        pieces = shapes.pieces()[name]

        @rm.trace
        def handle(question: str) -> Iterator[Any]:
            yield from pieces

        assert list(handle(QUESTION)) == pieces
        record = captured.records[0]
        assert record["answer"] == "".join(shapes.SAID)
        assert record["timings"]["first_byte_ms"] is not None

    @pytest.mark.parametrize("name", shapes.results())
    def test_returned_whole(self, captured: InMemoryExporter, name: str) -> None:
        result = shapes.results()[name]

        @rm.trace
        def handle(question: str) -> Any:
            return result

        assert handle(QUESTION) is result
        assert captured.records[0].get("answer") == "".join(shapes.SAID)
