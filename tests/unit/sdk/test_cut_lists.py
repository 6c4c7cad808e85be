"""What is cut of lists, mappings and values that came along: how much, and that it is said."""

from __future__ import annotations

from typing import Any

import pytest

import rag_monitor as rm
from tests.unit.sdk.conftest import InMemoryExporter


def _one(captured: InMemoryExporter, **fields: Any) -> dict[str, Any]:
    with rm.trace(question="q") as live:
        live.set(answer="a", **fields)
    (record,) = captured.records
    return dict(record)


@pytest.mark.parametrize("kind", [list, tuple, dict.fromkeys])
def test_metadata_of_more_than_fifty_items_is_cut_and_the_trace_says_so(
    captured: InMemoryExporter, kind: Any
) -> None:
    record = _one(captured, history=kind(map(str, range(60))))

    assert len(record["metadata"]["history"]) == 50
    assert record["truncated"] is True


def test_fifty_items_are_whole(captured: InMemoryExporter) -> None:
    record = _one(captured, history=list(range(50)), tags=[str(n) for n in range(50)])

    assert (len(record["metadata"]["history"]), len(record["tags"])) == (50, 50)
    assert "truncated" not in record


@pytest.mark.parametrize("count", [50, 120, 200])
def test_labels_are_kept_whole_as_passages_are(captured: InMemoryExporter, count: int) -> None:
    ids = [f"d{number}" for number in range(count)]
    record = _one(captured, relevant_ids=ids, context_labels=[1] * count)

    assert record["relevant_ids"] == ids
    assert record["context_labels"] == [1] * count
    assert "truncated" not in record


@pytest.mark.parametrize(
    "fields",
    [
        {"relevant_ids": [f"d{number}" for number in range(201)]},
        {"tags": [f"t{number}" for number in range(51)]},
        {f"name{number}": number for number in range(51)},
        {"note": "x" * 4097},
        {"expected": {"plugin": [f"p{number}" for number in range(51)]}},
    ],
)
def test_whatever_is_cut_the_trace_says_so(
    captured: InMemoryExporter, fields: dict[str, Any]
) -> None:
    assert _one(captured, **fields)["truncated"] is True


def test_the_last_value_of_a_name_counts_also_where_there_is_no_room_for_another(
    captured: InMemoryExporter,
) -> None:
    with rm.trace(question="q") as live:
        live.set(**{f"name{number}": number for number in range(50)}, answer="a")
        live.set(name7="last")

    (record,) = captured.records
    assert record["metadata"]["name7"] == "last"
    assert "truncated" not in record


@pytest.mark.parametrize(("keys", "cut"), [(20, False), (21, True)])
def test_metadata_of_a_passage_with_too_many_keys_is_cut_and_said_to_be(
    captured: InMemoryExporter, keys: int, cut: bool
) -> None:
    with rm.trace(question="q") as live, rm.retrieval() as found:
        found.documents = [{"content": "c", "metadata": {f"k{n}": n for n in range(keys)}}]
        live.set(answer="a")

    (record,) = captured.records
    assert len(record["retrievals"][0]["documents"][0]["metadata"]) == 20
    assert record.get("truncated", False) is cut


def test_a_secret_on_the_cut_of_a_value_is_hidden() -> None:
    with InMemoryExporter(redact="mask") as exporter:
        record = _one(exporter, note="x " * 2040 + "anna.schmidt@example.com" + " and more" * 9)

    assert "anna" not in record["metadata"]["note"]
    assert record["truncated"] is True
