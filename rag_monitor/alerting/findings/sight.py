"""One look: a rule, an app and a window, with the means to answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from rag_monitor.alerting.params import PARAMS, word
from rag_monitor.alerting.ports import EstimateSource
from rag_monitor.domain.alert import AlertRule
from rag_monitor.domain.window import Series, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What a finding is made from."""

    rule: AlertRule
    app: str
    window: Window
    estimates: EstimateSource
    worst: int = 5
    """Traces to link."""

    def series(self, release: str | None = None, judge: str = "") -> Series:
        """The rule's metric on this app, by the given judge or the one the rule names."""
        return Series(
            project=self.rule.project,
            app=self.app,
            metric=self.rule.metric or "",
            judge=judge or word(self.rule, "judge"),
            release=release,
            knowledge_base=self.knowledge_base,
        )

    @property
    def knowledge_base(self) -> str | None:
        """The knowledge base that the rule watches; None: all traces."""
        named = "knowledge_base" in PARAMS[self.rule.kind]
        return (word(self.rule, "knowledge_base") or None) if named else None

    @property
    def subject(self) -> str:
        """What is looked at, in English."""
        name = self.knowledge_base
        return self.app if name is None else f"{self.app} (knowledge base {name})"

    @property
    def subject_zh(self) -> str:
        """What is looked at, in Chinese."""
        name = self.knowledge_base
        return self.app if name is None else f"{self.app}(知识库 {name})"

    def worst_traces(self, window: Window | None = None) -> tuple[str, ...]:
        """The traces with the lowest scores of the rule's metric in the window, or in another.

        Numbers are kept per minute and count the window's last minute whole: so does this, else an
        alert on traces of the last seconds would name none of them.
        """
        seen = window or self.window
        last = seen.end.replace(second=0, microsecond=0)
        end = seen.end if last == seen.end else last + timedelta(minutes=1)
        found: Sequence[str] = self.estimates.worst(
            self.rule.project,
            self.app,
            self.rule.metric or "",
            Window(seen.start, end),
            self.worst,
            self.knowledge_base,
        )
        return tuple(found[: self.worst])

    def earlier(self, baseline: str) -> Window:
        """The window of `previous_window` or `last_week`."""
        if baseline == "last_week":
            return self.window.before(timedelta(days=7))
        return self.window.before()
