"""Only the sampler decides who is judged, and every decision says why."""

from __future__ import annotations

from collections.abc import Mapping

from rag_monitor.domain.decision import PEOPLE, SamplingDecision, SamplingReason
from rag_monitor.domain.judgement import is_embedded
from rag_monitor.domain.trace import Trace
from rag_monitor.sampling.draw import drawn
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
        cheap: Mapping[str, float] | None = None,
        forced: bool = False,
        feedback: bool = False,
    ) -> SamplingDecision:
        """Whether `judge_name` sees the trace.

        Args:
            trace: The trace.
            judge_name: `JudgeIdentity.name` of the judge.
            cheap: The embedded judge's scores by metric, where there are any.
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
            self._options, self._states.get(trace.project, self._unknown), trace, cheap
        )
        everyone = chosen.probability >= 1.0 and chosen.reason is SamplingReason.BASE_RATE
        return SamplingDecision(
            judge=judge_name,
            included=drawn(self._options.salt, trace.trace_id, chosen.probability),
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
            included=drawn(self._options.human_salt, trace.trace_id, rate),
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
