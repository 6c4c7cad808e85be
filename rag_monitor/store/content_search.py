"""Answers and passages by a piece of their text: looked through, page by page.

An index of them would be many times that of the questions, and every trace would pay for it when it
arrives. What is looked for is mostly recent, or can be narrowed by app, status and time; a page
says how far it looked, and the next one goes on from there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from sqlalchemy import Connection, select

from rag_monitor.domain.clean_text import clean_text
from rag_monitor.domain.filters import SearchIn
from rag_monitor.store.tables import passages, traces

STRETCH: Final = 1000
"""Rows of one question to the database; the next is asked only where these held too few."""
STRETCHES: Final = {SearchIn.ANSWER: 6, SearchIn.PASSAGES: 3}
"""How many of them one page looks through: of passages each trace has several."""
_HASHES: Final = 500
"""Passages of one question to the database."""


def context_columns(text: str) -> list[Any]:
    """What is asked of traces: whether the undivided context holds the text, and its passages."""
    held = traces.c.context_block.icontains(clean_text(text), autoescape=True)
    return [held.label("held"), traces.c.passages]


class PassageSearch:
    """Which rows have a passage that holds a text; each passage is looked at once."""

    def __init__(self, connection: Connection, project: str, text: str) -> None:
        self._connection = connection
        self._project = project
        self._text = clean_text(text)
        self._held: dict[str, bool] = {}

    def holding(self, rows: Collection[Any]) -> list[Any]:
        """Those of the rows, with `held` and `passages`, that do."""
        self._look(digest for row in rows for digest in row.passages or ())
        held = self._held
        return [row for row in rows if row.held or any(held[d] for d in row.passages or ())]

    def _look(self, digests: Iterable[str]) -> None:
        new = sorted(set(digests) - self._held.keys())
        for start in range(0, len(new), _HASHES):
            part = new[start : start + _HASHES]
            holding = self._among(part)
            self._held.update((digest, digest in holding) for digest in part)

    def _among(self, digests: Collection[str]) -> set[str]:
        return set(
            self._connection.execute(
                select(passages.c.sha256).where(
                    passages.c.project == self._project,
                    passages.c.sha256.in_(digests),
                    passages.c.content.icontains(self._text, autoescape=True),
                )
            ).scalars()
        )
