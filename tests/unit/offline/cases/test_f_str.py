"""JSON that somebody wrote into a string is read as what it is, in every kind of file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TRUE = "The ferry leaves at nine."
ROW = {"id": "a", "question": "When?", "answer": TRUE}
PASSAGES = [TRUE, "Dogs travel free."]


@pytest.mark.parametrize(
    "contexts",
    [
        json.dumps(PASSAGES),
        repr(PASSAGES),
        "\n " + json.dumps(PASSAGES, indent=2),
        json.dumps([{"page_content": text} for text in PASSAGES]),
        repr([{"content": text, "score": None} for text in PASSAGES]),
        json.dumps(json.dumps(PASSAGES)),
    ],
)
def test_f_str_passages_in_a_string_are_read(evaluate: Callable[..., Any], contexts: str) -> None:
    found = evaluate([{**ROW, "contexts": contexts}], "--metrics", "faithfulness")

    assert found.mean("faithfulness") > 0.9


def test_f_str_labels_timings_and_hits_in_strings_are_read(evaluate: Callable[..., Any]) -> None:
    row = {
        **ROW,
        "contexts": '[{"id": "x", "content": "a"}, {"id": "y", "content": "b"}]',
        "relevant_ids": '{"y": 2}',
        "key_points": '["nine"]',
        "timings": '{"end_to_end_ms": 250}',
        "hits": '[{"kind": "plugin", "name": "map"}]',
        "expected": '{"plugin": ["map"]}',
        "reference": '["At nine.", "The ferry leaves at nine."]',
    }

    found = evaluate([row], "--judge", "none")

    assert found.mean("reciprocal_rank") == 0.5
    assert found.mean("exact_match") == 1.0
    assert found.figure("end_to_end_ms_p50") == 250.0
    assert found.figure("hit_rate/plugin/map/expected") == 1.0


def test_f_str_an_answer_or_a_reference_may_be_json(evaluate: Callable[..., Any]) -> None:
    row = {**ROW, "answer": '{"price": 3}', "reference": '{"price": 3}'}

    assert evaluate([row], "--judge", "none").mean("exact_match") == 1.0


@pytest.mark.parametrize("contexts", ["oops", "[oops", "{}", '{"months": 3}', '"text"'])
def test_f_str_what_holds_no_passages_names_the_row(
    evaluate: Callable[..., Any], contexts: str
) -> None:
    found = evaluate([{**ROW, "contexts": contexts}, {**ROW, "contexts": PASSAGES}])

    assert found.report["failed_rows"] == 1
    assert "row 1: `contexts" in found.stderr
    assert found.mean("faithfulness") > 0.9


def test_f_str(evaluate: Callable[..., Any], shared_case: Callable[[str], Path]) -> None:
    found = evaluate(shared_case("f_str.jsonl"))

    assert found.mean("faithfulness") > 0.5
    assert found.mean("context_utilization") == 0.5
