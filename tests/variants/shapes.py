"""What clients of databases and models hand to an application, built without their packages."""

from __future__ import annotations

import json
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace as Made
from typing import Any

Passages = list[tuple[str | None, str | None]]

FIRST, SECOND = "闭馆日为每周一。", "The last entry is at five."
BOTH: Passages = [("d1", FIRST), ("d2", SECOND)]
TEXTS: Passages = [(None, FIRST), (None, SECOND)]


@dataclass
class ScoredPoint:
    """Qdrant."""

    id: str
    score: float
    payload: dict[str, Any]
    version: int = 1
    vector: list[float] | None = None


@dataclass
class QueryResponse:
    """Qdrant's answer to `query_points`."""

    points: list[ScoredPoint]


@dataclass
class Document:
    """LangChain."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str | None = None


class ObjectApiResponse(dict[str, Any]):
    """Elasticsearch 8: behaves like a mapping, with the content in `body`, too."""

    @property
    def body(self) -> dict[str, Any]:
        return dict(self)


Row = namedtuple("Row", ["id", "content", "distance"])
TextRow = namedtuple("TextRow", ["content"])


class Hits(list[Any]):
    """Milvus: a list of hits with attributes of its own."""

    ids = ("d1", "d2")


def documents() -> dict[str, tuple[Any, Passages]]:
    """Name of a shape to what the client gives and the passages in it."""
    return {
        "qdrant query response": (
            QueryResponse(
                [
                    ScoredPoint("d1", 0.9, {"page_content": FIRST, "metadata": {"page": 1}}),
                    ScoredPoint("d2", 0.4, {"text": SECOND, "lang": "en"}),
                ]
            ),
            BOTH,
        ),
        "qdrant with a node of LlamaIndex": (
            [
                ScoredPoint("d1", 0.9, {"_node_content": json.dumps({"text": FIRST})}),
                ScoredPoint("d2", 0.4, {"_node_content": json.dumps({"text": SECOND})}),
            ],
            BOTH,
        ),
        "langchain documents with scores": (
            [(Document(FIRST, id="d1"), 0.9), (Document(SECOND, id="d2"), 0.4)],
            BOTH,
        ),
        "elasticsearch response object": (
            ObjectApiResponse(
                took=2,
                hits={
                    "total": {"value": 2},
                    "hits": [
                        {"_index": "i", "_id": "d1", "_score": 3.0, "_source": {"text": FIRST}},
                        {"_index": "i", "_id": "d2", "_score": 1.0, "_source": {"text": SECOND}},
                    ],
                },
            ),
            BOTH,
        ),
        "opensearch hits with the text under content": (
            [
                {"_id": "d1", "_score": 3.0, "_source": {"title": "a", "content": FIRST}},
                {"_id": "d2", "_score": 1.0, "_source": {"title": "b", "content": SECOND}},
            ],
            BOTH,
        ),
        "pinecone response object": (
            Made(
                namespace="",
                matches=[
                    Made(id="d1", score=0.9, values=[], metadata={"text": FIRST}),
                    Made(id="d2", score=0.4, values=[], metadata={"text": SECOND}),
                ],
            ),
            BOTH,
        ),
        "chroma with two results": (
            {
                "ids": [["d1", "d2"]],
                "documents": [[FIRST, SECOND]],
                "metadatas": [[{"page": 1}, None]],
                "distances": [[0.1, 0.6]],
            },
            BOTH,
        ),
        "fields with names in Chinese": (
            [{"编号": "d1", "内容": FIRST}, {"编号": "d2", "正文": SECOND}],
            BOTH,
        ),
        "milvus hits": (
            [
                Hits(
                    [
                        {"id": "d1", "distance": 0.9, "entity": {"text": FIRST}},
                        {"id": "d2", "distance": 0.4, "entity": {"text": SECOND}},
                    ]
                )
            ],
            BOTH,
        ),
        "weaviate return object": (
            Made(
                objects=[
                    Made(uuid="d1", properties={"content": FIRST}, metadata=Made(score=0.9)),
                    Made(uuid="d2", properties={"content": SECOND}, metadata=Made(score=0.4)),
                ]
            ),
            BOTH,
        ),
        "lancedb to_list": (
            [
                {"id": "d1", "text": FIRST, "vector": [0.1, 0.2], "_distance": 0.2},
                {"id": "d2", "text": SECOND, "vector": [0.3, 0.1], "_distance": 0.7},
            ],
            BOTH,
        ),
        "pgvector named rows": ([Row("d1", FIRST, 0.1), Row("d2", SECOND, 0.4)], BOTH),
        "rows of one text column": ([TextRow(FIRST), TextRow(SECOND)], TEXTS),
        "rows of one text, as plain tuples": ([(FIRST,), (SECOND,)], TEXTS),
        "haystack run": (
            {"documents": [Made(id="d1", content=FIRST), Made(id="d2", content=SECOND)]},
            BOTH,
        ),
        "values of a dict of documents": (
            {"a": Document(FIRST, id="d1"), "b": Document(SECOND, id="d2")}.values(),
            BOTH,
        ),
        "azure ai search items": (
            [
                {"@search.score": 2.0, "id": "d1", "content": FIRST},
                {"@search.score": 1.0, "id": "d2", "content": SECOND},
            ],
            BOTH,
        ),
        "bedrock knowledge base": (
            {
                "retrievalResults": [
                    {"content": {"text": FIRST}, "score": 0.9, "location": {"type": "S3"}},
                    {"content": {"text": SECOND}, "score": 0.4, "location": {"type": "S3"}},
                ]
            },
            TEXTS,
        ),
        "a None between passages": ([FIRST, None, SECOND], TEXTS),
        "near miss: a tuple of texts is no row": ((FIRST, SECOND), TEXTS),
        "near miss: one document alone": ({"id": "d1", "content": FIRST}, [("d1", FIRST)]),
        "near miss: nothing recalled": ({"hits": {"total": {"value": 0}, "hits": []}}, []),
        "near miss: an empty list of points": (QueryResponse([]), []),
        "near miss: an empty list": ([], []),
    }


def tables() -> dict[str, tuple[Any, Passages]]:
    """Shapes of numpy and pandas."""
    import numpy
    import pandas

    return {
        "frame with a text column": (
            pandas.DataFrame({"id": ["d1", "d2"], "text": [FIRST, SECOND], "score": [0.9, 0.1]}),
            BOTH,
        ),
        "frame with page_content alone": (
            pandas.DataFrame({"page_content": [FIRST, SECOND]}),
            TEXTS,
        ),
        "records of a frame": (
            pandas.DataFrame({"id": ["d1", "d2"], "content": [FIRST, SECOND]}).to_dict("records"),
            BOTH,
        ),
        "array of texts": (numpy.array([FIRST, SECOND]), TEXTS),
        "array of objects": (
            numpy.array([{"id": "d1", "content": FIRST}, {"id": "d2", "content": SECOND}]),
            BOTH,
        ),
        "series of texts": (pandas.Series([FIRST, SECOND]), TEXTS),
        "near miss: an empty frame": (pandas.DataFrame({"id": [], "text": []}), []),
    }


SAID = ("二十四", "个月")


def _delta(**fields: Any) -> Any:
    return Made(choices=[Made(index=0, delta=Made(**fields))])


def pieces() -> dict[str, list[Any]]:
    """Name of a client to the pieces it streams; together they say `SAID`."""
    first, second = SAID
    chunk = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta"}}
    return {
        "bedrock converse with reasoning": [
            {"messageStart": {"role": "assistant"}},
            {"contentBlockDelta": {"delta": {"reasoningContent": {"text": "想一想"}}}},
            {"contentBlockStop": {"contentBlockIndex": 0}},
            {"contentBlockDelta": {"delta": {"text": first}, "contentBlockIndex": 1}},
            {"contentBlockDelta": {"delta": {"text": second}, "contentBlockIndex": 1}},
            {"messageStop": {"stopReason": "end_turn"}},
            {"metadata": {"usage": {"inputTokens": 3, "outputTokens": 2}}},
        ],
        "bedrock invoke_model": [
            {"chunk": {"bytes": json.dumps(chunk | {"delta": {"text": first}}).encode()}},
            {"chunk": {"bytes": json.dumps(chunk | {"delta": {"text": second}}).encode()}},
        ],
        "anthropic events": [
            Made(type="message_start", message=Made(content=[])),
            Made(type="content_block_delta", delta=Made(type="thinking_delta", thinking="想")),
            Made(type="content_block_delta", delta=Made(type="text_delta", text=first)),
            Made(type="content_block_delta", delta=Made(type="text_delta", text=second)),
            Made(type="message_stop"),
        ],
        "gemini objects": [
            Made(text=first, candidates=[Made(content=Made(parts=[Made(text=first)]))]),
            Made(text=second, candidates=[Made(content=Made(parts=[Made(text=second)]))]),
        ],
        "gemini with a thought": [
            {"candidates": [{"content": {"parts": [{"text": "想", "thought": True}]}}]},
            {"candidates": [{"content": {"parts": [{"text": first}]}}]},
            {"candidates": [{"content": {"parts": [{"text": second}], "role": "model"}}]},
        ],
        "cohere v2 dicts": [
            {"type": "message-start", "delta": {"message": {"role": "assistant"}}},
            {"type": "content-delta", "delta": {"message": {"content": {"text": first}}}},
            {"type": "content-delta", "delta": {"message": {"content": {"text": second}}}},
            {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}},
        ],
        "cohere v1": [
            Made(event_type="text-generation", text=first),
            Made(event_type="text-generation", text=second),
            Made(event_type="stream-end", finish_reason="COMPLETE"),
        ],
        "langgraph with a mode": [
            ("messages", (Made(content=first, type="AIMessageChunk"), {"langgraph_node": "a"})),
            ("updates", {"search": {"documents": ["x"]}}),
            ("messages", (Made(content=second, type="AIMessageChunk"), {"langgraph_node": "a"})),
        ],
        "langgraph with a tool message": [
            (Made(content="left=24", type="tool", name="count"), {"langgraph_node": "tools"}),
            (Made(content=first, type="AIMessageChunk"), {"langgraph_node": "agent"}),
            (Made(content=second, type="AIMessageChunk"), {"langgraph_node": "agent"}),
        ],
        "langchain events": [
            {"event": "on_chat_model_start", "data": {"input": "x"}},
            {"event": "on_chat_model_stream", "data": {"chunk": Made(content=first)}},
            {"event": "on_chat_model_stream", "data": {"chunk": Made(content=second)}},
            {"event": "on_chat_model_end", "data": {"output": Made(content=first + second)}},
        ],
        "openai responses events": [
            Made(type="response.created", response=Made(output=[])),
            Made(type="response.output_text.delta", delta=first),
            Made(type="response.output_text.delta", delta=second),
            Made(type="response.output_text.done", text=first + second),
            Made(type="response.completed", response=Made(output_text=first + second)),
        ],
        "two choices, one by one": [
            {"choices": [{"index": 1, "delta": {"content": "乙"}}]},
            {"choices": [{"index": 0, "delta": {"content": first}}]},
            {"choices": [{"index": 1, "delta": {"content": "丙"}}]},
            {"choices": [{"index": 0, "delta": {"content": second}}]},
        ],
        "two choices, together": [
            {
                "choices": [
                    {"index": 1, "delta": {"content": "乙"}},
                    {"index": 0, "delta": {"content": said}},
                ]
            }
            for said in (first, second)
        ],
        "two candidates of gemini": [
            {"candidates": [{"index": place, "content": {"parts": [{"text": said}]}}]}
            for place, said in ((0, first), (1, "乙"), (0, second))
        ],
        "the kind before the text": [
            ("token", first),
            ("sources", ["terms.md"]),
            ("token", second),
            ("done", None),
        ],
        "the kind before an object": [
            ("delta", {"text": first}),
            ("delta", {"text": second}),
            ("tool_call", {"text": "lookup"}),
        ],
        "special tokens": [
            {"token": {"id": 5, "text": first, "special": False}},
            {"token": {"id": 6, "text": second, "special": False}},
            {"token": {"id": 2, "text": "</s>", "special": True}},
        ],
        "near miss: a text before what is beside it": [
            (first, {"node": "answer"}),
            (second, {"node": "answer"}),
        ],
        "the kind in capitals before the text": [("TOKEN", first), ("TOKEN", second)],
        "the name of a node before what it changed": [
            ("answer", {"messages": [Made(type="ai", content=first + second, tool_calls=[])]}),
        ],
        "refusal deltas as dicts": [
            {"choices": [{"index": 0, "delta": {"content": None, "refusal": first}}]},
            {"choices": [{"index": 0, "delta": {"content": None, "refusal": second}}]},
        ],
        "responses refusal events": [
            Made(type="response.refusal.delta", delta=first),
            Made(type="response.refusal.delta", delta=second),
        ],
        "ollama": [
            {"model": "m", "message": {"role": "assistant", "content": first}, "done": False},
            {"model": "m", "message": {"role": "assistant", "content": second}, "done": False},
            {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True},
        ],
        "dashscope increments": [
            {"output": {"choices": [{"message": {"role": "assistant", "content": first}}]}},
            {"output": {"choices": [{"message": {"role": "assistant", "content": second}}]}},
        ],
        "near miss: content with refusal null": [
            _delta(content=first, refusal=None, role="assistant"),
            _delta(content=second, refusal=None),
            _delta(content=None, refusal=None),
        ],
    }


def results() -> dict[str, Any]:
    """Name of a client to the value it returns; each says `SAID`."""
    said = "".join(SAID)
    return {
        "bedrock converse": {
            "output": {"message": {"role": "assistant", "content": [{"text": said}]}},
            "stopReason": "end_turn",
            "usage": {"inputTokens": 3, "outputTokens": 2},
        },
        "gemini dict": {
            "candidates": [{"content": {"parts": [{"text": said}], "role": "model"}}],
            "usageMetadata": {"totalTokenCount": 5},
        },
        "gemini object": Made(
            text=said, candidates=[Made(content=Made(parts=[Made(text=said)], role="model"))]
        ),
        "cohere v2": Made(
            id="x", message=Made(role="assistant", content=[Made(type="text", text=said)])
        ),
        "anthropic message": Made(
            type="message",
            content=[Made(type="thinking", thinking="想"), Made(type="text", text=said)],
        ),
        "pipeline with the whole conversation": [
            {
                "generated_text": [
                    {"role": "user", "content": "保修多久？"},
                    {"role": "assistant", "content": said},
                ]
            }
        ],
        "choices in another order": {
            "choices": [
                {"index": 1, "message": {"role": "assistant", "content": "乙"}},
                {"index": 0, "message": {"role": "assistant", "content": said}},
            ]
        },
        "langgraph state": {
            "messages": [
                Made(type="human", content="保修多久？"),
                Made(type="tool", content="24", name="count"),
                Made(type="ai", content=said, tool_calls=[]),
            ]
        },
        "openai agents run": Made(input="保修多久？", new_items=[], final_output=said),
        "pydantic ai run": Made(output=said, _state=None),
        "crewai output": Made(raw=said, tasks_output=[Made(raw="x")]),
        "dashscope text": {"status_code": 200, "output": {"text": said}, "usage": {}},
        "openai refusal": Made(choices=[Made(message=Made(content=None, refusal=said))]),
        "responses refusal": Made(
            output=[Made(type="message", content=[Made(type="refusal", refusal=said)])]
        ),
        "near miss: the application's own object": {"answer": said, "text": "internal note"},
    }


def split(text: str, size: int) -> Iterator[bytes]:
    """The bytes of a text in pieces of `size`."""
    raw = text.encode()
    for at in range(0, len(raw), size):
        yield raw[at : at + size]


def passages_of(record: dict[str, Any]) -> Passages | None:
    """Id and text of each passage of a captured record; None: unknown."""
    found = record.get("contexts")
    if found is None:
        return None
    return [
        (None, item) if isinstance(item, str) else (item.get("id"), item.get("content"))
        for item in found
    ]
