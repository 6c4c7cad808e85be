"""Why a trace was judged or not, as a sentence for the person who asks."""

from __future__ import annotations

from typing import Final

from rag_monitor.domain.decision import PEOPLE, SamplingDecision, SamplingReason
from rag_monitor.i18n import Message, msgid
from rag_monitor.sampling.draw import hash_unit

_REASONS: Final = {
    SamplingReason.BASE_RATE: msgid("the base rate"),
    SamplingReason.STRATUM: msgid("the rate of stratum {stratum}"),
    SamplingReason.ERROR: msgid("a trace that failed"),
    SamplingReason.UNCERTAIN: msgid("an unsure embedded score"),
    SamplingReason.NEW_RELEASE: msgid("a new release"),
    SamplingReason.BUDGET: msgid("a budget that is nearly spent"),
}
_CERTAIN: Final = {
    SamplingReason.ALWAYS: Message("it sees every trace"),
    SamplingReason.FORCED: Message("somebody asked for it"),
    SamplingReason.FEEDBACK: Message("a user marked the trace"),
}


def explain(decision: SamplingDecision, trace_id: str) -> Message:
    """What the draw was and how it fell; recomputed from what is stored."""
    people = decision.judge == PEOPLE
    certain = _CERTAIN.get(decision.reason)
    if certain is not None:
        text = (
            msgid("Given to people: {reason}.") if people else msgid("Judged by {judge}: {reason}.")
        )
        return Message(text, judge=decision.judge, reason=certain)
    if people:
        text = (
            msgid("Given to people: its number {number} is below {share} ({reason}).")
            if decision.included
            else msgid("Not given to people: its number {number} is not below {share} ({reason}).")
        )
    else:
        text = (
            msgid("Judged by {judge}: its number {number} is below {share} ({reason}).")
            if decision.included
            else msgid(
                "Not judged by {judge}: its number {number} is not below {share} ({reason})."
            )
        )
    return Message(
        text,
        judge=decision.judge,
        number=f"{hash_unit(decision.salt, trace_id):.3g}" if decision.salt else "?",
        share=f"{decision.probability:.3g}",
        reason=Message(_REASONS[decision.reason], stratum=decision.stratum),
    )
