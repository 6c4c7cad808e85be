"""Fixtures in short notation, and the OTLP/JSON requests they stand for.

A fixture file holds a list of variants. Each has a `name`, one line `why`, a `payload` and what is
`expected` of the stored trace. In a payload:

- `spans`: `name`, `id`, `parent`, `ms` (start and end after the beginning), `kind`, `attributes`,
  `events` (name, ms, attributes), `status`, `scope`;
- `logs`: `span`, `ms`, `event`, `body`, `attributes`; sent to `/v1/logs`;
- `{"$json": value}` in place of a value is that value as a JSON string; every other object or list
  goes out as `kvlistValue` or `arrayValue`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.unit.ingest.evidence import pairs, value

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "variants"
AGO_NS = 120_000_000_000
"""Traces began two minutes ago: no clock is corrected, nothing is too old."""


@dataclass(frozen=True)
class Variant:
    """One case of a kind."""

    kind: str
    name: str
    why: str
    payload: Mapping[str, Any]
    expected: Mapping[str, Any]
    trace_id: str = field(default="")

    @property
    def id(self) -> str:
        """As pytest shows it."""
        return f"{self.kind}-{self.name}"


def variants(prefix: str) -> list[Variant]:
    """Every variant of the files whose names begin with `prefix`."""
    return [
        Variant(
            kind=path.stem.split("_")[0],
            trace_id=hashlib.sha256(f"{path.stem}/{item['name']}".encode()).hexdigest()[:32],
            **item,
        )
        for path in sorted(FOLDER.glob(f"{prefix}*.json"))
        for item in json.loads(path.read_text("utf-8"))
    ]


def spelled_out(item: Any) -> Any:
    """The value without short notation."""
    if isinstance(item, Mapping):
        if set(item) == {"$json"}:
            return json.dumps(item["$json"], ensure_ascii=False)
        return {key: spelled_out(member) for key, member in item.items()}
    return [spelled_out(member) for member in item] if isinstance(item, list) else item


class Wire:
    """The requests of one variant, at one time."""

    def __init__(self, variant: Variant) -> None:
        self._variant = variant
        self._payload = spelled_out(variant.payload)
        self._begin = time.time_ns() - AGO_NS

    def traces(self) -> bytes | None:
        """The request for `/v1/traces`."""
        spans = self._payload.get("spans", [])
        if not spans:
            return None
        scopes: dict[str, list[dict[str, Any]]] = {}
        for item in spans:
            scopes.setdefault(item.get("scope", "variants"), []).append(self._span(item))
        groups = [{"scope": {"name": name}, "spans": found} for name, found in scopes.items()]
        return self._request("resourceSpans", "scopeSpans", groups)

    def logs(self) -> bytes | None:
        """The request for `/v1/logs`."""
        logs = self._payload.get("logs", [])
        if not logs:
            return None
        groups = [{"scope": {"name": "variants"}, "logRecords": [self._log(i) for i in logs]}]
        return self._request("resourceLogs", "scopeLogs", groups)

    def _request(self, outer: str, inner: str, groups: list[dict[str, Any]]) -> bytes:
        resource = {"service.name": "variants", **self._payload.get("resource", {})}
        content: Any = {outer: [{"resource": {"attributes": pairs(resource)}, inner: groups}]}
        if self._payload.get("encoding") == "message_to_json":
            content = as_message_to_json(content)
        return json.dumps(content).encode()

    def _span_id(self, number: int) -> str:
        return hashlib.sha256(f"{self._variant.trace_id}/{number}".encode()).hexdigest()[:16]

    def _at(self, ms: float) -> str:
        return str(self._begin + round(ms * 1e6))

    def _span(self, item: Mapping[str, Any]) -> dict[str, Any]:
        start, end = item.get("ms", (0, 100))
        found: dict[str, Any] = {
            "traceId": self._variant.trace_id,
            "spanId": self._span_id(item.get("id", 1)),
            "name": item["name"],
            "kind": item.get("kind", 1),
            "startTimeUnixNano": self._at(start),
            "endTimeUnixNano": self._at(end),
            "attributes": pairs(item.get("attributes", {})),
            "events": [
                {"name": name, "timeUnixNano": self._at(ms), "attributes": pairs(extra)}
                for name, ms, extra in item.get("events", [])
            ],
            "status": item.get("status", {}),
        }
        if "parent" in item:
            found["parentSpanId"] = self._span_id(item["parent"])
        return found

    def _log(self, item: Mapping[str, Any]) -> dict[str, Any]:
        found = {
            "traceId": self._variant.trace_id,
            "spanId": self._span_id(item.get("span", 1)),
            "timeUnixNano": self._at(item.get("ms", 0)),
            "observedTimeUnixNano": self._at(item.get("ms", 0)),
            "severityNumber": 9,
            "body": value(item.get("body")),
            "attributes": pairs(item.get("attributes", {})),
        }
        return {**found, "eventName": item["event"]} if "event" in item else found


_KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
_STATUSES = ("UNSET", "OK", "ERROR")


def as_message_to_json(item: Any) -> Any:
    """As protobuf's own `MessageToJson` writes it: ids in base64, enums by name."""
    if isinstance(item, list):
        return [as_message_to_json(member) for member in item]
    if not isinstance(item, dict):
        return item
    found = {key: as_message_to_json(member) for key, member in item.items()}
    for key in ("traceId", "spanId", "parentSpanId"):
        if key in found:
            found[key] = base64.b64encode(bytes.fromhex(found[key])).decode()
    if isinstance(found.get("kind"), int):
        found["kind"] = f"SPAN_KIND_{_KINDS[found['kind']]}"
    if isinstance(found.get("code"), int):
        found["code"] = f"STATUS_CODE_{_STATUSES[found['code']]}"
    return found


def texts(item: object) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(item, str):
        yield item
    elif isinstance(item, Mapping):
        for member in item.values():
            yield from texts(member)
    elif isinstance(item, list):
        for member in item:
            yield from texts(member)
