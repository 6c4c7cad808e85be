"""Only the sampler decides who is judged, and every decision can be explained in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rag_monitor.domain.decision import PEOPLE, SamplingDecision, SamplingReason
from rag_monitor.domain.judgement import is_embedded
from rag_monitor.domain.trace import Trace
from rag_monitor.i18n import Message, msgid
from rag_monitor.sampling.hash_sampling import hash_unit, is_sampled
from rag_monitor.sampling.options import SamplingOptions
from rag_monitor.sampling.policy import SamplingState, inclusion


class Sampler:
    """Draws traces for a judge by hash, with the probability the policy gives them.

    The embedded judge sees every trace. Safe to share between threads: a new state replaces the
    old one as a whole.

    Args:
        options: The design.
        state: What is known of the past of a project that `begin_window` does not name.
    """

    def __init__(
        self, options: SamplingOptions | None = None, state: SamplingState | None = None
    ) -> None:
        self._options = options or SamplingOptions()
        self._unknown = state or SamplingState()
        self._states: Mapping[str, SamplingState] = {}

    @property
    def options(self) -> SamplingOptions:
        """The design."""
        return self._options

    @property
    def pi_min(self) -> float:
        """The smallest probability any trace can have."""
        return self._options.pi_min

    def begin_window(self, states: Mapping[str, SamplingState]) -> None:
        """Use what the last window taught, by project. Never call it inside a window."""
        self._states = dict(states)

    def decide(
        self,
        trace: Trace,
        judge_name: str,
        *,
        baseline_scores: Mapping[str, float] | None = None,
        forced: bool = False,
        feedback: bool = False,
    ) -> SamplingDecision:
        """Whether `judge_name` sees the trace.

        Args:
            trace: The trace.
            judge_name: `JudgeIdentity.name` of the judge.
            baseline_scores: The embedded judge's scores by metric, where there are any.
            forced: A person asked for it: judged for certain.
            feedback: A person marked the trace: a stratum of its own, judged for certain.
        """
        if forced:
            return self._certain(judge_name, SamplingReason.FORCED)
        if is_embedded(judge_name):
            return self._certain(judge_name, SamplingReason.ALWAYS)
        if feedback:
            return self._certain(judge_name, SamplingReason.FEEDBACK, "feedback")
        chosen = inclusion(
            self._options, self._states.get(trace.project, self._unknown), trace, baseline_scores
        )
        everyone = chosen.probability >= 1.0 and chosen.reason is SamplingReason.BASE_RATE
        return SamplingDecision(
            judge=judge_name,
            included=is_sampled(self._options.salt, trace.trace_id, chosen.probability),
            probability=chosen.probability,
            reason=SamplingReason.ALWAYS if everyone else chosen.reason,
            stratum=chosen.stratum,
            salt=self._options.salt,
        )

    def ask_people(self, trace: Trace) -> SamplingDecision:
        """Whether people are asked to label the trace, given that it was judged.

        Uniform, and the same whenever and wherever it is asked again.
        """
        rate = self._options.human_rate
        return SamplingDecision(
            judge=PEOPLE,
            included=is_sampled(self._options.human_salt, trace.trace_id, rate),
            probability=rate,
            reason=SamplingReason.BASE_RATE,
            salt=self._options.human_salt,
        )

    def _certain(
        self, judge_name: str, reason: SamplingReason, stratum: str = ""
    ) -> SamplingDecision:
        return SamplingDecision(
            judge=judge_name,
            included=True,
            probability=1.0,
            reason=reason,
            stratum=stratum,
            salt=self._options.salt,
        )


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
