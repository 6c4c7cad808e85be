"""Answers of the API as rows of data frames."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final

_TIMES: Final = ("first_seen", "last_seen")


def trace_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A trace of a list; every metric has its own column."""
    flat = {key: value for key, value in row.items() if key != "scores"}
    flat["started_at"] = datetime.fromisoformat(row["started_at"])
    flat.update({f"score.{metric}": value for metric, value in row["scores"].items()})
    return flat


def score_row(trace: Mapping[str, Any], score: Mapping[str, Any]) -> dict[str, Any]:
    """One score with the trace it is about; times become datetimes."""
    made = score["created_at"]
    return {
        "trace_id": trace["trace_id"],
        "app": trace["app"],
        "release": trace["release"],
        "started_at": datetime.fromisoformat(trace["started_at"]),
        **{key: score[key] for key in ("metric", "judge", "value", "status", "reason", "flagged")},
        "detail": score.get("detail"),
        "created_at": None if made is None else datetime.fromisoformat(made),
    }


def session_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A session; times become datetimes, and its faithfulness has a column each."""
    flat = {key: value for key, value in row.items() if key != "session_faithfulness"}
    flat |= {f"session_faithfulness.{k}": v for k, v in row["session_faithfulness"].items()}
    return flat | {key: datetime.fromisoformat(row[key]) for key in ("first_at", "last_at")}


def topic_row(topic: Mapping[str, Any]) -> dict[str, Any]:
    """A topic; every share has columns for its value and its interval, every fault one of its own.

    Typical questions are left out.
    """
    row: dict[str, Any] = {}
    for key, value in topic.items():
        if key in _TIMES:
            row[key] = None if value is None else datetime.fromisoformat(value)
        elif key == "faults":
            row.update({f"fault.{fault}": share["value"] for fault, share in value.items()})
        elif isinstance(value, Mapping):
            row[key] = value["value"]
            row |= {f"{key}_lower": value["lower"], f"{key}_upper": value["upper"]}
        elif key != "typical":
            row[key] = value
    return row


def slo_row(slo: Mapping[str, Any]) -> dict[str, Any]:
    """An objective; both windows have columns of their own, the course is left out."""
    row = {key: value for key, value in slo.items() if key not in {"course", "long", "short"}}
    for window in ("long", "short"):
        row.update({f"{window}.{name}": value for name, value in slo[window].items()})
    return row


def label_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A reviewer's mark; its time becomes a datetime."""
    return {**row, "created_at": datetime.fromisoformat(row["created_at"])}


def document_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A document; every share has columns such as `useful.value`."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        parts = value.items() if isinstance(value, dict) else ()
        flat |= {f"{name}.{part}": item for part, item in parts} if parts else {name: value}
    return flat


def day_text(value: date | str | None) -> str | None:
    """A day as the API takes it."""
    return value.isoformat() if isinstance(value, date) else value
