"""Rows of a golden set as the API gives them."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from rag_monitor.server.schemas.values import Wire


class GoldenTurn(Wire):
    """A turn before the question."""

    question: str
    answer: str | None = None


class GoldenItem(Wire):
    """A question with its labels, and the answer of then; fields as in Trace JSON."""

    id: str = Field(description="Of the trace that asked it.")
    question: str
    history: list[GoldenTurn] | None = Field(
        default=None, description="The turns before it in its session, in order; at most 20."
    )
    reference: str | None = Field(default=None, description="As people said.")
    relevant_ids: list[str] | None = Field(default=None, description="As people said.")
    answer: str | None = None
    retrievals: list[Any] | None = None
    contexts: list[Any] | None = Field(default=None, description="null: not known.")


class GoldenItems(Wire):
    """One item, or none where the question was withheld."""

    items: list[GoldenItem]
