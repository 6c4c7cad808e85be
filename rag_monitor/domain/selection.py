"""Which traces a number is about: every filter of a request in one value.

Whoever asks for a number hands the whole selection on. A filter is added here, and then no question
can leave it out: what cannot be told by it is refused, never answered for all traces instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rag_monitor.domain.window import Series, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Traces of one app; what is None does not filter."""

    project: str
    app: str
    window: Window
    release: str | None = None
    """Empty: traces that name none."""
    knowledge_base: str | None = None
    """Only traces that it gave passages to."""

    def series(self, metric: str, judge: str = "") -> Series:
        """A metric of these traces, whatever the window."""
        return Series(
            project=self.project,
            app=self.app,
            metric=metric,
            judge=judge,
            release=self.release,
            knowledge_base=self.knowledge_base,
        )

    def over(self, window: Window) -> Selection:
        """The same in another window."""
        return replace(self, window=window)

    def of(self, knowledge_base: str) -> Selection:
        """Those of them that the knowledge base gave passages to."""
        return replace(self, knowledge_base=knowledge_base)
