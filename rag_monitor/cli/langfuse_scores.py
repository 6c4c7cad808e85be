"""Scores in Langfuse's exports, as `gen_ai.evaluation.result` events that ingest takes in.

They stand in the `scores` of a trace, or line by line as the interface for scores gives them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rag_monitor import semconv
from rag_monitor.cli.otlp_rows import BadExport, Json, camel, identifier, key_values, nanoseconds

SCOPE: Final = "langfuse"
_KINDS: Final = frozenset({"NUMERIC", "BOOLEAN", "CATEGORICAL", "TEXT", "CORRECTION"})
_TEXTS: Final = frozenset({"TEXT", "CORRECTION"})
_TRUTH: Final[Mapping[bool, str]] = {True: "True", False: "False"}
"""Langfuse's words for it."""


def is_score(row: Json) -> bool:
    """Whether a row (names in camelCase) is a lone score, not a trace or an observation."""
    alone = "observations" not in row and "startTime" not in row and "input" not in row
    return alone and row.get("dataType") in _KINDS and bool(row.get("name"))


def of_trace(trace_id: str, scores: object) -> list[Json]:
    """`resourceLogs` with the scores of a trace; lists of ids, which some pages give, are none."""
    listed = scores if isinstance(scores, Sequence) and not isinstance(scores, str) else ()
    rows = [{camel(str(k)): v for k, v in r.items()} for r in listed if isinstance(r, Mapping)]
    return _logs({**row, "traceId": row.get("traceId") or trace_id} for row in rows)


def of_row(row: Json) -> list[Json]:
    """`resourceLogs` with a lone score, of a trace or of a whole session.

    Raises:
        BadExport: It is about neither.
    """
    if not row.get("traceId") and not row.get("sessionId"):
        raise BadExport(
            "a Langfuse score without `traceId` and `sessionId`: scores of runs stay out"
        )
    return _logs([row])


def _logs(scores: Iterable[Json]) -> list[Json]:
    """By who gave them: a person, an evaluator and the interface may score under one name."""
    sources: dict[str, list[Json]] = {}
    for score in scores:
        kind = score.get("source")
        source = f"{SCOPE} / {kind}" if kind else SCOPE
        sources.setdefault(source, []).append(_event(score))
    scopes = [
        {"scope": {"name": source}, "logRecords": events} for source, events in sources.items()
    ]
    return [{"resource": {"attributes": []}, "scopeLogs": scopes}] if scopes else []


def _event(score: Json) -> Json:
    about: Json = {semconv.GEN_AI_EVALUATION_NAME: str(score.get("name") or "")}
    event: Json = {
        "eventName": semconv.GEN_AI_EVALUATION_EVENT,
        "timeUnixNano": str(nanoseconds(score.get("timestamp") or score.get("createdAt"))),
    }
    if score.get("traceId"):
        event["traceId"] = identifier(score["traceId"], 32)
        if score.get("observationId"):
            event["spanId"] = identifier(score["observationId"], 16)
    else:
        about[semconv.SESSION_ID] = str(score["sessionId"])
    event["attributes"] = key_values({**about, **_evaluation(score)})
    return event


def _evaluation(score: Json) -> Json:
    """Value, label and explanation by the kind of the score."""
    value, text = score.get("value"), score.get("stringValue")
    comment = score.get("comment")
    if score.get("dataType") in _TEXTS:
        written = text if text is not None else value
        parts = [str(part) for part in (written, comment) if part not in (None, "")]
        return {semconv.GEN_AI_EVALUATION_EXPLANATION: "\n".join(parts) or None}
    if isinstance(value, bool):
        text = text if text is not None else _TRUTH[value]
        value = int(value)
    if isinstance(value, str):
        text, value = value if text is None else text, None
    return {
        semconv.GEN_AI_EVALUATION_VALUE: float(value) if isinstance(value, int | float) else None,
        semconv.GEN_AI_EVALUATION_LABEL: None if text is None else str(text),
        semconv.GEN_AI_EVALUATION_EXPLANATION: None if comment is None else str(comment),
    }
