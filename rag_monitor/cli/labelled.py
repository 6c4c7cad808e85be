"""Rows of a file as the evaluation wants them, with the labels some files carry."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rag_monitor.domain.ports import BlobFormat
from rag_monitor.domain.trace import DEFAULT_PROJECT
from rag_monitor.errors import IngestError
from rag_monitor.evaluation.dataset import DatasetRow
from rag_monitor.evaluation.rows import BadRow, read_rows
from rag_monitor.ingest.derive import derive

_GROUP_KEYS: Final = ("source_id", "group", "cluster")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledRow:
    """A row with what people said about it."""

    row: DatasetRow
    faithful: bool | None
    group: str
    """Rows of one group are not independent: same question or source."""


def read_labelled(path: Path) -> Iterator[LabelledRow]:
    """Every row of a file, in order; one that is not a trace becomes a row with an error.

    Raises:
        ConfigurationError: The file is missing, of an unknown kind, or cannot be unpacked.
    """
    for row in read_rows(path):
        name = str(row.number + 1)
        if isinstance(row, BadRow):
            yield _broken(name, f"row {name}: {row.reason}")
        else:
            yield _read(name, row.fields)


def _read(place: str, content: Mapping[str, Any]) -> LabelledRow:
    name = str(content.get("id") or place)
    try:
        payload = json.dumps(content, ensure_ascii=False, default=str).encode()
        trace = derive(DEFAULT_PROJECT, [(BlobFormat.TRACE_JSON, payload)], datetime.now(UTC))
    except (ValueError, IngestError) as error:
        return _broken(name, f"row {place}: {error}")
    if trace is None:
        return _broken(name, f"row {place}: neither a question nor an answer")
    label = content.get("label_faithful")
    return LabelledRow(
        row=DatasetRow(id=name, trace=trace),
        faithful=None if label is None else bool(label),
        group=_group(content, trace.question or name),
    )


def _broken(name: str, reason: str) -> LabelledRow:
    return LabelledRow(row=DatasetRow(id=name, error=reason), faithful=None, group=name)


def _group(content: Mapping[str, Any], fallback: str) -> str:
    extra = content.get("extra")
    if isinstance(extra, dict):
        for key in _GROUP_KEYS:
            if extra.get(key) is not None:
                return str(extra[key])
    return fallback
