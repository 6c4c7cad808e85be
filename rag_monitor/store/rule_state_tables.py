"""Tables of how rules stand on apps, and of the windows that were chosen for them."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Float, Integer, PrimaryKeyConstraint, Table

from rag_monitor.store.tables import metadata
from rag_monitor.store.types import Json, Moment, Name
from rag_monitor.store.types import column as _column
from rag_monitor.store.types import names as _names

rule_states: Final = Table(
    "rule_states",
    metadata,
    *_names("project", "rule", "app", "verdict"),
    _column("since", Moment),
    _column("looked_at", Moment),
    _column("window_s", Float),
    Column("chosen_at", Moment),  # NULL: the rule fixes the window
    _column("body", Json),
    PrimaryKeyConstraint("project", "rule", "app"),
)

rule_windows: Final = Table(
    "rule_windows",
    metadata,
    *_names("project", "rule", "app"),
    _column("window_s", Float),
    _column("chosen_at", Moment),
    _column("days", Integer),
    _column("chosen_by", Name),  # empty: the monitor, which may choose again
    PrimaryKeyConstraint("project", "rule", "app"),
)
