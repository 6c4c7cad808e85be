"""The Judge protocol: one request per trace, one judgement for all metrics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from rag_monitor.domain.judgement import Aspect, JudgeIdentity, Judgement, JudgeRequest
from rag_monitor.domain.session_verdict import ConversationReply, ConversationRequest


@runtime_checkable
class Judge(Protocol):
    """Answers every aspect of a request it can, and says which it cannot.

    A judge that calls every answer supported:

        >>> from rag_monitor.domain.judgement import Verdict
        >>> class Generous(BatchJudge):
        ...     identity = JudgeIdentity(name="generous", model="1", prompts="none")
        ...     aspects = frozenset({Aspect.ANSWER_SUPPORTED})
        ...
        ...     async def judge_many(self, requests):
        ...         verdict = Verdict(aspect=Aspect.ANSWER_SUPPORTED, probability=1.0)
        ...         judgement = Judgement(identity=self.identity, verdicts=(verdict,))
        ...         return [judgement for _ in requests]
        ...
        ...     async def close(self):
        ...         pass
        >>> isinstance(Generous(), Judge)
        True
    """

    @property
    def identity(self) -> JudgeIdentity:
        """Name, model, prompt hash and calibration; stored with every score."""
        ...

    @property
    def aspects(self) -> frozenset[Aspect]:
        """What this judge can answer. Others come back in `Judgement.missing`."""
        ...

    async def judge(self, request: JudgeRequest) -> Judgement:
        """Judge one trace.

        Runs on the worker's event loop: judges that compute hand off to a thread.

        Raises:
            JudgeUnavailable: Not reachable or overloaded. Safe to retry later.
            JudgeTimeout: No answer within the deadline. Safe to retry later.
            JudgeOutputInvalid: Answered in the wrong shape. Do not retry; record a failed score.
        """
        ...

    async def judge_many(self, requests: Sequence[JudgeRequest]) -> Sequence[Judgement | Exception]:
        """Judge several traces, in order; one failure does not spoil its neighbours."""
        ...

    async def close(self) -> None:
        """Release connections, threads and memory."""
        ...


class BatchJudge(ABC):
    """A judge that judges one trace as it judges several."""

    async def judge(self, request: JudgeRequest) -> Judgement:
        """Judge one trace; several at once are cheaper, see `judge_many`.

        Raises:
            JudgeError: There is no judgement; see `Judge.judge`.
        """
        (result,) = await self.judge_many([request])
        if isinstance(result, Exception):
            raise result
        return result

    @abstractmethod
    async def judge_many(self, requests: Sequence[JudgeRequest]) -> Sequence[Judgement | Exception]:
        """Judge several traces, in order; one failure does not spoil its neighbours."""


@runtime_checkable
class ConversationJudge(Protocol):
    """A judge that can say of a whole conversation whether it served its user."""

    async def judge_conversation(self, request: ConversationRequest) -> ConversationReply:
        """Judge one conversation, at bounded cost.

        Raises:
            JudgeUnavailable: Not reachable or overloaded. Safe to retry later.
            JudgeTimeout: No answer within the deadline. Safe to retry later.
            BudgetExhausted: The budget does not allow it. Safe to retry later.
            JudgeOutputInvalid: Answered in the wrong shape. Do not retry.
        """
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


@runtime_checkable
class InspectableJudge(Protocol):
    """A judge that can say what the model or server behind it is able to do."""

    async def inspect(self) -> Mapping[str, object]:
        """Find out by asking; names and values as `rag-monitor doctor` shows them.

        Raises:
            JudgeError: What is behind the judge cannot be used.
        """
        ...
