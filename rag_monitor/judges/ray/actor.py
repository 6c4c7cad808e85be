"""What runs inside an actor: one copy of the judge."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rag_monitor.domain.judgement import Aspect, JudgeIdentity, Judgement, JudgeRequest
from rag_monitor.errors import RagMonitorError
from rag_monitor.judges.judge import Judge


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorInfo:
    """Who sits in an actor."""

    identity: JudgeIdentity
    aspects: frozenset[Aspect]


class JudgeActor:
    """One copy of the judge. Ray calls one method at a time.

    Args:
        make: Makes the judge.
    """

    def __init__(self, make: Callable[[], Judge]) -> None:
        self._make = make
        self._judge: Judge

    async def load(self) -> ActorInfo | RagMonitorError:
        """Make the judge. Errors are values, so that they arrive as they are."""
        try:
            self._judge = self._make()
        except RagMonitorError as error:
            return error
        return ActorInfo(identity=self._judge.identity, aspects=self._judge.aspects)

    async def judge_many(self, requests: Sequence[JudgeRequest]) -> list[Judgement | Exception]:
        """What the judge says of each request, failures included. Only after `load`."""
        try:
            results = await self._judge.judge_many(requests)
        except Exception as error:  # noqa: BLE001 - whatever it is, it happens at the caller's
            results = [error] * len(requests)
        return [r if isinstance(r, Judgement) else portable(r) for r in results]


def portable(error: Exception) -> Exception:
    """`error` if it survives the way to another process, else one that says the same."""
    try:
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    except Exception:  # noqa: BLE001 - any class may forbid it in any way
        copy = None
    if type(copy) is type(error) and str(copy) == str(error):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
