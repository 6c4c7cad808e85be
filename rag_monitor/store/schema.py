"""All tables: whoever needs every one of them asks here."""

from __future__ import annotations

from typing import Final

from sqlalchemy import MetaData

from rag_monitor.store import (
    document_tables,
    feedback_tables,
    incident_tables,
    rule_state_tables,
    session_tables,
    tables,
    topic_tables,
)

# A module's tables are part of `metadata` once it is imported.
_DECLARED: Final = (
    document_tables,
    feedback_tables,
    incident_tables,
    rule_state_tables,
    session_tables,
    tables,
    topic_tables,
)
metadata: Final[MetaData] = tables.traces.metadata
"""With every table of these modules."""
