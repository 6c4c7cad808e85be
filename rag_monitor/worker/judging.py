"""Which judges this installation runs, from its settings."""

from __future__ import annotations

from rag_monitor.config import Settings
from rag_monitor.evaluation.plan import EvaluationPlan
from rag_monitor.judges import registry
from rag_monitor.judges.judge import Judge

EMBEDDED = "embedded"
LEXICAL = "embedded-lexical"


def create_judge(settings: Settings, name: str | None = None) -> Judge:
    """The judge called `name` (default: the configured one) with its configured options.

    Raises:
        UnknownJudge: There is no judge of that name.
        ConfigurationError: Its options cannot be used, or a library it needs is missing.
    """
    wanted = name or settings.judge
    return registry.create(wanted, settings.judges.get(wanted, {}))


def create_plan(settings: Settings) -> EvaluationPlan:
    """Embedded on everything; another configured judge on what the sampler draws."""
    configured = create_judge(settings)
    if settings.judge in (EMBEDDED, LEXICAL):
        every, sampled = configured, None
    else:
        every, sampled = create_judge(settings, EMBEDDED), configured
    lexical_already = every.identity.name == LEXICAL
    return EvaluationPlan(
        every=every,
        lagging=None if lexical_already else create_judge(settings, LEXICAL),
        sampled=sampled,
        options=settings.evaluation,
    )
