"""Tables of incidents, and of the traces that stand as examples in their stories."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Index, Integer, PrimaryKeyConstraint, Table

from rag_monitor.store.tables import metadata
from rag_monitor.store.types import Json, Moment, Name
from rag_monitor.store.types import column as _column
from rag_monitor.store.types import names as _names
from rag_monitor.store.types import of_trace as _of_trace

incidents: Final = Table(
    "incidents",
    metadata,
    *_names("project", "id", "app"),
    _column("began_at", Moment),
    Column("ended_at", Moment),  # NULL: an alert of it still fires
    _column("body", Json),  # all but the examples
    PrimaryKeyConstraint("project", "id"),
    Index("ix_incidents_began_at", "project", "began_at"),
)

incident_examples: Final = Table(
    "incident_examples",
    metadata,
    *_of_trace(),
    _column("incident", Name),
    _column("position", Integer),
    _column("body", Json),
    PrimaryKeyConstraint("project", "incident", "position"),
    Index("ix_incident_examples_trace", "project", "trace_id"),
)
