"""Trace JSON as /openapi.json describes it: no wider than what is read, and never narrower.

Ingest reads it, not pydantic: a bad row of many must not spoil its neighbours.
"""

from __future__ import annotations

from typing import Any, Final

from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.trace import TraceStatus
from rag_monitor.ingest.trace_encoding import TIMINGS

NAME: Final = "TraceJson"
REFERENCE: Final = {"$ref": f"#/components/schemas/{NAME}"}


def _text(description: str) -> dict[str, Any]:
    """A text; a number in its place is spelled out."""
    return {"type": ["string", "number", "null"], "description": description}


def _number(description: str) -> dict[str, Any]:
    return {"type": ["number", "null"], "description": description}


def _whole(description: str, least: int = 0) -> dict[str, Any]:
    return {"type": ["integer", "null"], "minimum": least, "description": description}


def _flag(description: str) -> dict[str, Any]:
    """True or false, 1 or 0, also as text: tables write them in all of these ways."""
    return {"type": ["boolean", "number", "string", "null"], "description": description}


def _texts(description: str) -> dict[str, Any]:
    """A list of texts; a lone one counts as a list of one."""
    return {
        "type": ["array", "string", "null"],
        "items": {"type": "string"},
        "description": description,
    }


def _object(description: str, **members: dict[str, Any]) -> dict[str, Any]:
    return {"type": ["object", "null"], "properties": members, "description": description}


def _list(description: str, *items: dict[str, Any]) -> dict[str, Any]:
    return {"type": ["array", "null"], "items": {"anyOf": list(items)}, "description": description}


_MEANINGS: Final = {
    "first_byte_ms": "Question received to first piece of the answer.",
    "generation_ms": "Last retrieval finished to answer complete.",
    "end_to_end_ms": "Question received to answer complete.",
    "retrieval_ms": "Time with at least one search under way.",
    "first_token_ms": "Start of the model call to its first token.",
}
_DOCUMENT: Final = {
    "type": "object",
    "properties": {
        "id": _text("Names the passage."),
        "content": _text("Its text; null where it is withheld."),
        "score": _number("What the retriever gave it."),
        "rank": _whole("Its place, from 1; default: its place in the list.", 1),
        "knowledge_base": _text("Where it is from; default: of the whole trace or retrieval."),
        "metadata": {"type": ["object", "null"], "description": "Anything else."},
    },
}
_HIT: Final = {
    "type": "object",
    "required": ["kind", "name"],
    "properties": {
        "kind": {"enum": [kind.value for kind in HitKind]},
        "name": {"type": ["string", "number"]},
        "ok": _flag("Whether it worked; default true."),
        "items": _whole("How much it found; 0: nothing."),
        "latency_ms": _number("How long it took."),
    },
}
_TURN: Final = {
    "type": "object",
    "required": ["question"],
    "properties": {
        "question": _text("As the user asked it."),
        "answer": _text("As the user saw it."),
    },
}
_RETRIEVAL: Final = {
    "type": "object",
    "properties": {
        "query": _text("What was searched for."),
        "documents": _list("What was found, best first.", {"type": "string"}, _DOCUMENT),
        "knowledge_base": _text("Where."),
        "latency_ms": _number("How long it took."),
        "reranked": _flag("Whether this is a reranker's list."),
        "error": _text("Why it failed."),
    },
}

TRACE_JSON: Final[dict[str, Any]] = {
    "type": "object",
    "title": NAME,
    "description": "One answered question. Fields it does not know are ignored, and reported.",
    "anyOf": [{"required": ["question"]}, {"required": ["answer"]}],
    "properties": {
        "id": {
            "type": ["string", "integer", "null"],
            "description": "Your name for it, unique in the app, or 32 hex digits, which are then "
            "the trace id. What comes again with an id replaces what came before. Without one, "
            "equal content is one trace: give an id, or `started_at`, where answers may repeat.",
        },
        "app": _text("Which application; default `unknown`."),
        "question": _text("As the user asked it; null where it is withheld."),
        "answer": _text("As the user saw it; null where it is withheld or there is none."),
        "contexts": _list(
            "Passages that reached the model, best first. [] recalled nothing; leave it out where "
            "it is not known.",
            {"type": "string"},
            _DOCUMENT,
        ),
        "history": _list(
            "The turns before the question, in order, where it continues a conversation whose "
            "earlier turns are not sent with a `session_id`. The last 3 are kept.",
            _TURN,
        ),
        "context_block": _text("The undivided text, where only that is known."),
        "query": _text(
            "The rewritten question that was searched for; `retrievals` have their own."
        ),
        "retrievals": _list("Every search, where there were several.", _RETRIEVAL),
        "knowledge_base": _text(
            "Where the passages are from, unless `retrievals` or they themselves say so."
        ),
        "timings": _object("Milliseconds.", **{name: _number(_MEANINGS[name]) for name in TIMINGS}),
        "hits": _list("Plugins, knowledge bases and workflows that were called, in order.", _HIT),
        "expected": _object(
            "Which of them should have been called; [] none.",
            **{kind.value: _texts("Names.") for kind in HitKind},
        ),
        "status": {
            "enum": [*(status.value for status in TraceStatus), None],
            "description": "Default: `error` with an `error`, else `ok`.",
        },
        "error": _text("Why it failed."),
        "started_at": {
            "type": ["string", "number", "null"],
            "description": "When the question came: ISO 8601, UTC where it names no zone, or Unix "
            "seconds. Default: when it is received, which also replaces what lies before 2000 or "
            "more than an hour ahead.",
        },
        "release": _text("Version of the application."),
        "environment": _text("Such as `production`."),
        "session_id": _text("Conversation."),
        "user_id": _text("Who asked; erasing a user goes by it."),
        "tags": _texts("Whatever you group by."),
        "model": _text("Language model."),
        "usage": _object(
            "Tokens.", input_tokens=_whole("Prompt."), output_tokens=_whole("Answer.")
        ),
        "streamed": _flag("Whether the answer came in pieces."),
        "truncated": _flag("Whether something was cut off before it was sent."),
        "metadata": {"description": "Anything; kept and shown."},
        "reference": _texts("Right answers."),
        "key_points": _texts("What a right answer must say."),
        "relevant_ids": {
            "type": ["array", "object", "null"],
            "description": "Ids of the passages that should be found, or grades by id.",
        },
        "context_labels": _list(
            "Per passage whether it is relevant.", {"enum": [0, 1, True, False]}
        ),
        "label_faithful": _flag("A person's verdict: is the answer supported?"),
        "reported_scores": {
            "type": ["object", "array", "null"],
            "description": "Scores of other tools: numbers by name, or objects as a trace gives "
            "them. Shown beside ours; they enter no estimate.",
        },
        "label": {
            "type": ["string", "number", "boolean", "null"],
            "description": "The right class, for classification.",
        },
        "predicted": {
            "type": ["string", "number", "boolean", "null"],
            "description": "The class that was given.",
        },
    },
}
