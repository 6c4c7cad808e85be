"""Passages are read in whatever shape retrievers and tables hold them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TRUE = "The guarantee runs for 36 months."
OTHER = "Parcels leave on Mondays."
ZH = "质保期为三十六个月。"

SHAPES: dict[str, Any] = {
    "LangChain": [{"page_content": TRUE, "metadata": {"source": "a.pdf", "page": 3}}],
    "LangChain, of a JavaScript application": [{"pageContent": TRUE, "metadata": {}}],
    "LangChain, serialised": [
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "document", "Document"],
            "kwargs": {"page_content": TRUE, "metadata": {}},
        }
    ],
    "LangChain, with scores": [[{"page_content": TRUE, "metadata": {}}, 0.87]],
    "text": [{"text": TRUE}],
    "LlamaIndex": [{"node": {"text": TRUE, "id_": "n1"}, "score": 0.7}],
    "as JSON texts": ['{"page_content": "' + TRUE + '"}'],
    "one of each": [{"content": OTHER}, {"page_content": TRUE}, OTHER],
    "columns of a nested table": {"content": [OTHER, TRUE], "id": ["1", "2"]},
    "a search result": {"documents": [{"page_content": TRUE}]},
    "as JSON in a string": '[{"page_content": "' + TRUE + '"}]',
    "as pandas writes documents": f"[Document(metadata={{'page': 1}}, page_content='{TRUE}')]",
    "as pandas writes documents with scores": f"[(Document(page_content='{TRUE}'), 0.5)]",
    "as pandas writes nodes": f"[NodeWithScore(node=TextNode(text='{TRUE}', id_='n'), score=0.5)]",
    "beside empty columns": [{"content": None, "page_content": TRUE, "id": None}],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_07_passages_are_read_in_every_shape(evaluate: Callable[..., Any], shape: str) -> None:
    row = {"id": "a", "question": "How long is the guarantee?", "answer": TRUE}

    found = evaluate([{**row, "contexts": SHAPES[shape]}], "--metrics", "faithfulness")

    assert found.mean("faithfulness") > 0.9
    assert found.stderr == ""


def test_07_a_passage_that_looks_like_a_call_stays_text(
    evaluate: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f'question,answer,contexts\nHow long?,{TRUE},"[Table(1)] {TRUE}"\n')

    assert evaluate(path, "--metrics", "faithfulness").mean("faithfulness") > 0.9


def test_07_chinese_passages_are_read_alike(evaluate: Callable[..., Any]) -> None:
    row = {"id": "a", "question": "质保期多久？", "answer": ZH, "contexts": [{"page_content": ZH}]}

    assert evaluate([row], "--metrics", "faithfulness").mean("faithfulness") > 0.9


def test_07_html_and_json_that_a_passage_is_about_stay_text(evaluate: Callable[..., Any]) -> None:
    html, code = "<p>The guarantee runs for 36 months.</p>", '{"months": 36}'
    row = {"id": "a", "question": "How long?", "answer": TRUE, "contexts": [html, code]}

    found = evaluate([row], "--metrics", "faithfulness,context_relevance")

    assert found.mean("faithfulness") > 0.9
    assert found.stderr == ""


@pytest.mark.parametrize(
    "unreadable", [{"chapter": 3}, 7, None, True, {}, {"page_content": [1]}, {"content": []}]
)
def test_07_what_cannot_be_read_is_named_and_the_rest_is_judged(
    evaluate: Callable[..., Any], unreadable: object
) -> None:
    good = {"id": "good", "question": "How long?", "answer": TRUE, "contexts": [TRUE]}
    mixed = {**good, "id": "mixed", "contexts": [{"page_content": TRUE}, unreadable]}
    broken = {**good, "id": "broken", "contexts": [unreadable]}

    found = evaluate([good, mixed, broken], "--metrics", "faithfulness")

    scores = {line["id"]: line["scores"]["faithfulness"] for line in found.lines}
    assert scores["good"] > 0.9
    assert scores["mixed"] == pytest.approx(scores["good"])
    assert scores["broken"] is None
    assert "contexts" in found.lines[2]["failed"]["faithfulness"]
    assert "mixed: row 2: `contexts[1]` cannot be read" in found.stderr
    assert "broken: row 3: " in found.stderr
    assert found.report["failed_rows"] == 1
    assert found.report["unread_passages"] == 1


@pytest.mark.parametrize("withheld", [{"id": "d1"}, {"content": None}, {"id": 1, "content": None}])
def test_07_a_passage_whose_text_is_withheld_is_unknown_and_no_error(
    evaluate: Callable[..., Any], withheld: object
) -> None:
    row = {"id": "a", "question": "How long?", "answer": TRUE, "contexts": [withheld, TRUE]}

    (line,) = evaluate([row], "--metrics", "faithfulness").lines

    assert line["not_applicable"] == {"faithfulness": "contexts_unknown"}


def test_07_no_passages_stay_no_passages(evaluate: Callable[..., Any]) -> None:
    row = {"id": "a", "question": "How long?", "answer": TRUE, "contexts": []}

    assert evaluate([row], "--metrics", "faithfulness").mean("faithfulness") == 0.0


def test_07_langchain_contexts(
    evaluate: Callable[..., Any], shared_case: Callable[[str], Path]
) -> None:
    found = evaluate(shared_case("07_langchain_contexts.jsonl"), "--metrics", "faithfulness")

    assert [line["scores"]["faithfulness"] > 0.9 for line in found.lines] == [True] * 3
    assert found.stderr == ""
