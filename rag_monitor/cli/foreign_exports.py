"""Exports of Langfuse and Phoenix as OTLP/JSON spans, so that ingest reads them like live ones.

Values go into the attributes that the two products' own instrumentations use; what a question, an
answer or a passage is remains the business of `ingest.conventions`. Everything in these files is
untrusted: a row that is not shaped as expected is one error with its line, not the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from rag_monitor import semconv
from rag_monitor.cli import langfuse_scores
from rag_monitor.cli.otlp_rows import (
    BadExport,
    Json,
    camel,
    identifier,
    key_values,
    missing,
    nanoseconds,
    written,
)

_MAX_DEPTH: Final = 12
_LANGFUSE_SCOPE: Final = "langfuse-sdk"
_PHOENIX_SCOPE: Final = "openinference"
_JSON_ATTRIBUTES: Final = ("metadata",)
"""Last parts of OpenInference names whose objects are JSON strings on the wire."""


def langfuse_request(row: Mapping[str, Any], app: str | None) -> Json:
    """A trace with its observations, a lone observation or a lone score, as OTLP/JSON requests.

    Args:
        row: As the public API and the exports give it; names in camelCase or snake_case.
        app: Name of the application; None: the name of the trace.

    Returns:
        `resourceSpans`, and `resourceLogs` with the scores.

    Raises:
        BadExport: It is neither.
    """
    content = {camel(str(key)): value for key, value in row.items()}
    if langfuse_scores.is_score(content):
        return {"resourceSpans": [], "resourceLogs": langfuse_scores.of_row(content)}
    observations = content.get("observations")
    if isinstance(observations, list) and any(isinstance(o, Mapping) for o in observations):
        spans = _langfuse_trace(content, [o for o in observations if isinstance(o, Mapping)])
    elif content.get("traceId"):
        # The newer interface has no traces: who asked stands on their root observation.
        whole = None if content.get("parentObservationId") else _trace_attributes(content)
        spans = [_observation(content, str(content["traceId"]), whole)]
    elif content.get("id") and ("input" in content or "output" in content):
        spans = _langfuse_trace(content, [])
    else:
        raise BadExport(
            "neither a Langfuse trace (`id`, `observations`), an observation nor a score"
        )
    name = app or content.get("traceName") or content.get("name") or "langfuse"
    request = _request(spans, {semconv.SERVICE_NAME: str(name)}, _LANGFUSE_SCOPE)
    trace_id = str(content.get("traceId") or content.get("id"))
    return {**request, "resourceLogs": langfuse_scores.of_trace(trace_id, content.get("scores"))}


def phoenix_request(row: Mapping[str, Any], app: str | None) -> Json:
    """A span of a Phoenix export as an OTLP/JSON request.

    Args:
        row: A row of the spans data frame (`context.trace_id`, `attributes.…` columns) or a span of
            the REST API (nested `context` and `attributes`).
        app: Name of the application; None: `phoenix`.

    Raises:
        BadExport: It has no `context.trace_id` or `context.span_id`.
    """
    context = row.get("context")
    inner = context if isinstance(context, Mapping) else {}
    trace_id = row.get("context.trace_id") or inner.get("trace_id") or row.get("trace_id")
    span_id = row.get("context.span_id") or inner.get("span_id") or row.get("span_id")
    if not trace_id or not span_id:
        raise BadExport("no `context.trace_id` and `context.span_id`: not a span of Phoenix")
    attributes: Json = {}
    for key, value in row.items():
        if key == "attributes" and isinstance(value, Mapping):
            _flatten("", value, attributes, 0)
        elif key.startswith("attributes."):
            _flatten(key.removeprefix("attributes."), value, attributes, 0)
    attributes = _regrouped(attributes)
    if row.get("span_kind"):
        attributes.setdefault(semconv.OI_SPAN_KIND, str(row["span_kind"]))
    failed = str(row.get("status_code") or "").upper() == "ERROR"
    span = _span(
        trace_id=identifier(trace_id, 32),
        span_id=identifier(span_id, 16),
        parent=row.get("parent_id"),
        name=row.get("name"),
        start=row.get("start_time"),
        end=row.get("end_time"),
        attributes=attributes,
        error=str(row.get("status_message") or "") if failed else None,
    )
    span["events"] = [_event(item) for item in _listed(row.get("events"))]
    return _request([span], {semconv.SERVICE_NAME: app or "phoenix"}, _PHOENIX_SCOPE)


READERS: Final[Mapping[str, Callable[[Mapping[str, Any], str | None], Json]]] = {
    "langfuse": langfuse_request,
    "phoenix": phoenix_request,
}
"""By the name of the format."""


def _langfuse_trace(trace: Json, observations: list[Mapping[str, Any]]) -> list[Json]:
    trace_id = str(trace.get("id") or "")
    if not trace_id:
        raise BadExport("a Langfuse trace without `id`")
    converted = [{camel(str(k)): v for k, v in one.items()} for one in observations]
    ids = {str(one.get("id")) for one in converted}
    roots = [one for one in converted if str(one.get("parentObservationId")) not in ids]
    whole = _trace_attributes(trace)
    if len(roots) == 1:
        root_id = None
    else:
        # The API's trace is no observation of its own: without one root it becomes the root.
        root_id = f"{trace_id}/root"
        starts = [one["startTime"] for one in converted if one.get("startTime")]
        ends = [one["endTime"] for one in converted if one.get("endTime")]
        converted.append(
            {
                "id": root_id,
                "type": "SPAN",
                "name": trace.get("name"),
                "startTime": trace.get("timestamp") or min(map(str, starts), default=None),
                "endTime": max(map(str, ends), default=None) or trace.get("timestamp"),
                "input": trace.get("input"),
                "output": trace.get("output"),
            }
        )
    spans = []
    for one in converted:
        is_root = one.get("id") == root_id if root_id else one is roots[0]
        if root_id and not is_root and str(one.get("parentObservationId")) not in ids:
            one["parentObservationId"] = root_id
        spans.append(_observation(one, trace_id, whole if is_root else None))
    return spans


def _trace_attributes(trace: Json) -> Json:
    return {
        semconv.LF_TRACE_INPUT: written(trace.get("input")),
        semconv.LF_TRACE_OUTPUT: written(trace.get("output")),
        semconv.LF_TRACE_TAGS: [str(tag) for tag in _listed(trace.get("tags"))] or None,
        semconv.LF_ENVIRONMENT: trace.get("environment"),
        semconv.LF_RELEASE: trace.get("release") or trace.get("version"),
        semconv.LF_USER: trace.get("userId"),
        semconv.LF_SESSION: trace.get("sessionId"),
        semconv.LF_APP_ROOT: True,
    }


def _observation(one: Json, trace_id: str, whole: Json | None) -> Json:
    metadata = one.get("metadata")
    usage = one.get("usageDetails") or one.get("usage")
    kind = str(one.get("type") or "span").lower()
    attributes: Json = {
        semconv.LF_TYPE: kind,
        semconv.LF_INPUT: written(one.get("input")),
        semconv.LF_OUTPUT: written(one.get("output")),
        semconv.LF_LEVEL: one.get("level"),
        semconv.LF_STATUS_MESSAGE: one.get("statusMessage"),
        semconv.LF_MODEL: one.get("model") or one.get("providedModelName"),
        semconv.LF_USAGE: written(_counts(usage)) if isinstance(usage, Mapping) else None,
        semconv.LF_COMPLETION_START: written(one.get("completionStartTime"), quoted=True),
        **(whole or {}),
    }
    if isinstance(metadata, Mapping):
        for key, value in metadata.items():
            attributes[semconv.LF_METADATA_PREFIX + str(key)] = written(value)
    failed = str(one.get("level") or "").upper() == "ERROR"
    parent = one.get("parentObservationId")
    return _span(
        trace_id=identifier(trace_id, 32),
        span_id=identifier(one.get("id") or "", 16),
        parent=parent,
        name=one.get("name"),
        start=one.get("startTime"),
        end=one.get("endTime") or one.get("startTime"),
        attributes=attributes,
        error=str(one.get("statusMessage") or "") if failed else None,
    )


def _counts(usage: Mapping[str, Any]) -> Json:
    return {
        str(key): value
        for key, value in usage.items()
        if isinstance(value, int) and not isinstance(value, bool)
    }


def _span(
    *,
    trace_id: str,
    span_id: str,
    parent: object,
    name: object,
    start: object,
    end: object,
    attributes: Mapping[str, Any],
    error: str | None,
) -> Json:
    begun = nanoseconds(start)
    span: Json = {
        "traceId": trace_id,
        "spanId": span_id,
        "name": str(name or "span"),
        "kind": 1,
        "startTimeUnixNano": str(begun),
        "endTimeUnixNano": str(max(begun, nanoseconds(end))),
        "attributes": key_values(attributes),
        "status": {} if error is None else {"code": 2, "message": error},
    }
    if not missing(parent):
        span["parentSpanId"] = identifier(parent, 16)
    return span


def _event(item: object) -> Json:
    event = item if isinstance(item, Mapping) else {}
    attributes = event.get("attributes")
    flat: Json = {}
    if isinstance(attributes, Mapping):
        _flatten("", attributes, flat, 0)
    return {
        "name": str(event.get("name") or ""),
        "timeUnixNano": str(nanoseconds(event.get("timestamp"))),
        "attributes": key_values(flat),
    }


def _request(spans: list[Json], resource: Mapping[str, Any], scope: str) -> Json:
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": key_values(resource)},
                "scopeSpans": [{"scope": {"name": scope}, "spans": spans}],
            }
        ]
    }


def _flatten(prefix: str, value: Any, into: Json, depth: int) -> None:
    """OpenInference's flat names: objects by dots, lists of objects by index."""
    if depth > _MAX_DEPTH:
        raise BadExport(
            "`{field}` is nested deeper than {most} levels", field=prefix, most=_MAX_DEPTH
        )
    last = prefix.rpartition(".")[2]
    if isinstance(value, Mapping) and last not in _JSON_ATTRIBUTES:
        for key, item in value.items():
            _flatten(f"{prefix}.{key}" if prefix else str(key), item, into, depth + 1)
    elif isinstance(value, Mapping):
        into[prefix] = written(value)
    elif isinstance(value, Sequence) and any(isinstance(item, Mapping) for item in value):
        for index, item in enumerate(value):
            _flatten(f"{prefix}.{index}", item, into, depth + 1)
    elif not missing(value):
        into[prefix] = value


def _regrouped(flat: Json) -> Json:
    """Objects of metadata, which Phoenix's REST API takes apart, as the JSON they were."""
    kept: Json = {}
    groups: dict[str, Json] = {}
    for key, value in flat.items():
        head, separator, tail = key.partition("metadata.")
        if separator and (not head or head.endswith(".")):
            groups.setdefault(head + "metadata", {})[tail] = value
        else:
            kept[key] = value
    return kept | {name: kept.get(name) or written(group) for name, group in groups.items()}


def _listed(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def rows_of(content: object) -> Iterator[Mapping[str, Any] | None]:
    """The rows in a parsed document: a list, a page (`{"data": […]}`) or one row; None: no row."""
    if isinstance(content, Mapping) and isinstance(content.get("data"), list):
        content = content["data"]
    for item in content if isinstance(content, list) else [content]:
        yield item if isinstance(item, Mapping) else None
