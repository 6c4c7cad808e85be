"""Which judges this installation runs, from its settings."""

from __future__ import annotations

import logging
from typing import Final

from rag_monitor.config import Settings
from rag_monitor.evaluation.plan import EvaluationPlan
from rag_monitor.judges.factory import check_judges, make_judge, unused_tables
from rag_monitor.judges.judge import Judge
from rag_monitor.store.store import Store

_LOG: Final = logging.getLogger(__name__)

EMBEDDED = "embedded"
LEXICAL = "embedded-lexical"
_OF_THE_ENCODER = frozenset(
    {"kind", "weights", "calibration", "encoder", "encoder_threads", "encoder_window"}
)
"""Settings of `embedded` that its stand-in does not take over."""


def create_plan(settings: Settings, store: Store) -> EvaluationPlan:
    """Embedded on everything; another configured judge on what the sampler draws.

    Judges that cost something keep to the budget in the store and remember replies there.

    Raises:
        UnknownJudge: There is no judge of the configured name.
        ConfigurationError: Options cannot be used, or a library a judge needs is missing.
    """
    tables = settings.judges
    check_judges(tables, settings.store.budgets)
    if unread := never_asked(settings):
        _LOG.warning(unread)
    configured = make_judge(settings.judge, tables, ledger=store.budgets, cache=store.replies)
    if configured.identity.name in (EMBEDDED, LEXICAL):
        baseline, sampled = configured, None
    else:
        baseline, sampled = make_judge(EMBEDDED, tables), configured
    lexical_already = baseline.identity.name == LEXICAL
    return EvaluationPlan(
        baseline=baseline,
        fallback=None if lexical_already else _stand_in(settings),
        sampled=sampled,
        options=settings.evaluation,
    )


def never_asked(settings: Settings) -> str | None:
    """What to say of judges that are set up and judge no traffic; None: there are none.

    They may be meant for `evaluate`, `agreement` or a backfill.
    """
    judge_names = (settings.judge, settings.sessions.judge or settings.judge, EMBEDDED, LEXICAL)
    names = unused_tables(settings.judges, judge_names)
    if not names:
        return None
    tables = ", ".join(f"[judges.{name}]" for name in names)
    return f"{tables}: judges no traffic, which goes to `judge` = {settings.judge!r}"


def _stand_in(settings: Settings) -> Judge:
    """The judge by words alone, for when judging lags.

    Where it has no table of its own, it keeps to the limits and the threshold of `embedded`.
    """
    if LEXICAL in settings.judges:
        return make_judge(LEXICAL, settings.judges)
    shared = {
        name: value
        for name, value in settings.judges.get(EMBEDDED, {}).items()
        if name not in _OF_THE_ENCODER
    }
    return make_judge(LEXICAL, {LEXICAL: shared})
