"""All tables: whoever needs every one of them asks here."""

from __future__ import annotations

from typing import Final

from sqlalchemy import MetaData

from rag_monitor.store import document_tables

metadata: Final[MetaData] = document_tables.document_days.metadata
"""With the tables of `tables`, to which `document_tables` adds its own."""
