"""Rows of a file as the evaluation wants them, with the labels some files carry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rag_monitor.cli.lines import numbered_lines
from rag_monitor.domain.ports import BlobFormat
from rag_monitor.domain.trace import DEFAULT_PROJECT
from rag_monitor.errors import IngestError
from rag_monitor.evaluation.dataset import DatasetRow
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
    """Every non-empty line of a JSONL file, gzipped or not; a bad line becomes a row with an error.

    Raises:
        ConfigurationError: The file cannot be opened or unpacked.
    """
    for number, line in numbered_lines(path):
        yield _read(number, line)


def _read(number: int, line: bytes) -> LabelledRow:
    name = str(number)
    try:
        content = json.loads(line)
        if not isinstance(content, dict):
            return _broken(name, "not a JSON object")
        name = str(content.get("id") or name)
        trace = derive(DEFAULT_PROJECT, [(BlobFormat.TRACE_JSON, line)], datetime.now(UTC))
    except (ValueError, IngestError) as error:
        return _broken(name, f"line {number}: {error}")
    if trace is None:
        return _broken(name, f"line {number}: neither a question nor an answer")
    label = content.get("label_faithful")
    return LabelledRow(
        row=DatasetRow(id=name, trace=trace),
        faithful=None if label is None else bool(label),
        group=_group(content, trace.question or name),
    )


def _broken(name: str, reason: str) -> LabelledRow:
    return LabelledRow(row=DatasetRow(id=name, error=reason), faithful=None, group=name)


def _group(content: dict[str, Any], fallback: str) -> str:
    extra = content.get("extra")
    if isinstance(extra, dict):
        for key in _GROUP_KEYS:
            if extra.get(key) is not None:
                return str(extra[key])
    return fallback
