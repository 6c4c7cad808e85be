"""Which judges this installation runs, from its settings."""

from __future__ import annotations

import logging
from typing import Final

from rag_monitor.config import Settings
from rag_monitor.evaluation.plan import EvaluationPlan
from rag_monitor.judges.configured import check_tables, make_judge, unused_tables
from rag_monitor.judges.judge import Judge
from rag_monitor.store.store import Store

_LOG: Final = logging.getLogger(__name__)

EMBEDDED = "embedded"
LEXICAL = "embedded-lexical"
_OF_THE_ENCODER = frozenset(
    {"kind", "weights", "calibration", "encoder", "encoder_threads", "encoder_window"}
)
"""Settings of `embedded` that its stand-in does not take over."""


def create_judge(settings: Settings, name: str | None = None, store: Store | None = None) -> Judge:
    """The judge called `name` (default: the configured one) with its configured options.

    With a store, judges that cost something keep to the budget in it and remember replies there.

    Raises:
        UnknownJudge: There is no judge of that name.
        ConfigurationError: Its options cannot be used, or a library it needs is missing.
    """
    return make_judge(
        name or settings.judge,
        settings.judges,
        ledger=store.budgets if store is not None else None,
        cache=store.replies if store is not None else None,
    )


def create_plan(settings: Settings, store: Store) -> EvaluationPlan:
    """Embedded on everything; another configured judge on what the sampler draws."""
    check_tables(settings.judges, settings.store.budgets)
    if unread := never_asked(settings):
        _LOG.warning(unread)
    configured = create_judge(settings, store=store)
    if configured.identity.name in (EMBEDDED, LEXICAL):
        every, sampled = configured, None
    else:
        every, sampled = create_judge(settings, EMBEDDED), configured
    lexical_already = every.identity.name == LEXICAL
    return EvaluationPlan(
        every=every,
        lagging=None if lexical_already else _stand_in(settings),
        sampled=sampled,
        options=settings.evaluation,
    )


def never_asked(settings: Settings) -> str | None:
    """What to say of judges that are set up and judge no traffic; None: there are none.

    They may be meant for `evaluate`, `agreement` or a backfill.
    """
    names = unused_tables(settings.judges, (settings.judge, EMBEDDED, LEXICAL))
    if not names:
        return None
    tables = ", ".join(f"[judges.{name}]" for name in names)
    return f"{tables}: judges no traffic, which goes to `judge` = {settings.judge!r}"


def _stand_in(settings: Settings) -> Judge:
    """The judge by words alone, for when judging lags.

    Where it has no table of its own, it keeps to the limits and the threshold of `embedded`.
    """
    if LEXICAL in settings.judges:
        return create_judge(settings, LEXICAL)
    shared = {
        name: value
        for name, value in settings.judges.get(EMBEDDED, {}).items()
        if name not in _OF_THE_ENCODER
    }
    return make_judge(LEXICAL, {LEXICAL: shared})
