"""How rules stand on apps, and the windows they look over."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from rag_monitor.domain.rule_state import RuleState
from rag_monitor.server.schemas.values import Given, Name, Number, Wire


class RuleWindowIn(Given):
    """The window of a rule on one app."""

    rule: Name = Field(examples=["faithfulness drop"])
    app: Name = Field(examples=["support-bot"])
    window_s: Number | None = Field(
        default=None,
        ge=60,
        le=34_560_000,
        description="null: the rule's own window, or the one that is chosen.",
    )


class RuleStateOut(Wire):
    """What a rule said of an app when it last looked."""

    rule: str
    app: str
    state: str = Field(
        description="`ok`, `pending`, `firing`, `cannot_tell` (too little to tell by) or `idle` "
        "(the app has nothing that the rule watches)."
    )
    since: datetime
    looked_at: datetime
    window_s: float
    chosen_at: datetime | None = Field(
        description="When the window was chosen from the app's traffic, or by `chosen_by`; null: "
        "the rule fixes it."
    )
    chosen_by: str = Field(description="Who fixed the window for this app; empty: nobody.")
    counted: str = Field(description="What the rule needs enough of: `judged` or `traces`.")
    needed: int = Field(description="So many the window needs; 0: too few is not the reason.")
    has: int = Field(description="So many it has, or its baseline, whichever has fewer.")
    fitting_window_s: float | None = Field(
        description="The shortest window that had enough on most days; null: none, or not asked."
    )
    reason: str = Field(description="What was seen; empty where the rule can tell.")
    reason_zh: str
    notes: list[str]

    @classmethod
    def from_domain(cls, state: RuleState) -> RuleStateOut:
        """The state as it goes out."""
        return cls(
            rule=state.rule,
            app=state.app,
            state=state.verdict.value,
            since=state.since,
            looked_at=state.looked_at,
            window_s=state.window_s,
            chosen_at=state.chosen_at,
            chosen_by=state.chosen_by,
            counted=state.counted.value,
            needed=state.needed,
            has=state.has,
            fitting_window_s=state.fitting_window_s,
            reason=state.summary,
            reason_zh=state.summary_zh,
            notes=list(state.notes),
        )
