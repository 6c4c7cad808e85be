"""Rows of a file as the evaluation wants them, with the labels some files carry."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.trace import Trace
from rag_monitor.errors import IngestError, MalformedPayload
from rag_monitor.i18n import Message
from rag_monitor.ingest.trace_encoding import unknown_kinds
from rag_monitor.ingest.trace_json import decode_trace
from rag_monitor.ingest.values import clean_name
from rag_monitor.language.script import detect_script
from rag_monitor.offline.conversations import last_turn
from rag_monitor.offline.dataset import DatasetRow
from rag_monitor.offline.foreign_scores import reported_in
from rag_monitor.offline.rows import BadRow, Row, at_row, read_rows
from rag_monitor.spelling import did_you_mean

_GROUP_KEYS: Final = ("source_id", "group", "cluster")
_FACETS: Final = ("app", "dataset", "lang", "task", "model", "release", "knowledge_base")
"""Columns a report compares groups by."""
_MARKED: Final = ("faithfulness", "answer_supported")
_GOOD: Final = 0.75
_BAD: Final = 0.25
"""Marks between the two are unsure."""
_MEASURED_ALONE: Final = (
    "label", "predicted", "hits", "expected", "timings", "relevant_ids", "context_labels",
)  # fmt: skip
_UNNAMED_APP: Final = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledRow:
    """A row with what people said about it."""

    row: DatasetRow
    faithful: bool | None
    group: str
    """Rows of one group are not independent: same question or source."""


def read_labelled(path: Path, columns: Mapping[str, str] | None = None) -> Iterator[LabelledRow]:
    """Every row of a file, in order; one that is not a trace becomes a row with an error.

    Args:
        path: See `rows.read_rows`.
        columns: The file's column to the Trace JSON name.

    Raises:
        ConfigurationError: The file is missing, of an unknown kind, or cannot be unpacked.
    """
    for row in read_rows(path, columns):
        # The sign keeps it apart from the ids that other rows bring.
        name = _name(row.fields) or f"#{row.number + 1}"
        if isinstance(row, BadRow):
            reason = at_row(row.number, row.reason)
            yield _broken(name, reason, _fingerprint(row.reason))
        else:
            yield _read(row, name)


def _read(row: Row, name: str) -> LabelledRow:
    content = row.fields
    taken = None
    try:
        taken = _fingerprint(content)
        content = last_turn(content)
        trace = decode_trace(_measurable(content), received_at=datetime.now(UTC))
        check_kinds(content)
    except RecursionError:
        reason = Message("the JSON is nested too deeply; flatten it")
        return _broken(name, at_row(row.number, reason), taken)
    except (ValueError, IngestError) as error:
        return _broken(name, at_row(row.number, error), taken)
    return LabelledRow(
        row=DatasetRow(
            id=name,
            trace=trace,
            fingerprint=taken,
            facets=_facets(content, trace),
            reported=reported_in(content),
            unread=tuple(at_row(row.number, passage) for passage in row.unread),
        ),
        faithful=_label(content),
        group=_group(content, trace.question or name),
    )


def check_kinds(content: Mapping[str, Any]) -> None:
    """Refuse a label that nothing could ever be held against.

    Live traces keep what is known of theirs; in a labelled row the figures would be wrong silently.

    Raises:
        MalformedPayload: `expected` names what is no kind of hit.
    """
    for name in unknown_kinds(content):
        kinds = [kind.value for kind in HitKind]
        raise MalformedPayload(
            "`expected.{name}` is no kind of hit{meant}; there are {kinds}",
            name=clean_name(name, 40),
            meant=did_you_mean(name, kinds),
            kinds=", ".join(kinds),
        )


def _name(content: Mapping[str, Any]) -> str | None:
    """The row's own id, which may be the number 0; else that of the trace it was exported from."""
    given = (content.get(field) for field in ("id", "trace_id"))
    return next((str(name) for name in given if name is not None and str(name).strip()), None)


def _fingerprint(content: object) -> str:
    """The same for the same content, whatever the order of its fields; short, and never a number.

    Raises:
        RecursionError: It is nested too deeply.
    """
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, default=str)
    return "h" + hashlib.blake2b(text.encode(), digest_size=10).hexdigest()


def _label(content: Mapping[str, Any]) -> bool | None:
    """What people said of the answer's support: the label, else what most marks on it say.

    Marks are those of `rag-monitor export`: on faithfulness or on `answer_supported`, of the whole
    answer or of one statement. One statement that somebody calls bad makes the answer unfaithful;
    a draw, and marks on anything else, say nothing.
    """
    label = content.get("label_faithful")
    if label is not None:
        return bool(label)
    marks = content.get("feedback")
    if not isinstance(marks, list):
        return None
    balance = 0
    for mark in marks:
        if not isinstance(mark, Mapping) or mark.get("metric") not in _MARKED:
            continue
        value = mark.get("value")
        if not isinstance(value, int | float):
            continue
        if value <= _BAD and mark.get("statement") is not None:
            return False
        if mark.get("statement") is None:
            balance += (value >= _GOOD) - (value <= _BAD)
    return None if balance == 0 else balance > 0


def _measurable(content: Mapping[str, Any]) -> dict[str, Any]:
    """A row with moments as text; labels, hits, times and rankings can be measured without texts.

    A live trace without question and answer is a mistake of its sender, and is refused.
    """
    plain = {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in content.items()
    }
    if any(plain.get(name) is not None for name in _MEASURED_ALONE):
        plain.setdefault("answer", None)
    return plain


def _broken(name: str, reason: str, fingerprint: str | None) -> LabelledRow:
    row = DatasetRow(id=name, error=reason, fingerprint=fingerprint)
    return LabelledRow(row=row, faithful=None, group=name)


def _facets(content: Mapping[str, Any], trace: Trace) -> dict[str, str]:
    facets = {name: str(content[name]) for name in _FACETS if content.get(name) is not None}
    facets.setdefault("lang", detect_script(trace.question or trace.answer or "").value)
    if facets.get("app") == _UNNAMED_APP:
        del facets["app"]
    return facets


def _group(content: Mapping[str, Any], fallback: str) -> str:
    extra = content.get("extra")
    if isinstance(extra, dict):
        for key in _GROUP_KEYS:
            if extra.get(key) is not None:
                return str(extra[key])
    return fallback
