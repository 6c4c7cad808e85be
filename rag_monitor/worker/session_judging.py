"""The job that has a judge say of sessions that have ended whether they served their user."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from rag_monitor import telemetry
from rag_monitor.config import Settings
from rag_monitor.config.options import SessionOptions
from rag_monitor.domain.clock import Clock
from rag_monitor.domain.conversation import EarlierTurn
from rag_monitor.domain.session import Session
from rag_monitor.domain.session_verdict import ConversationRequest, EndedSession, SessionVerdict
from rag_monitor.errors import (
    BudgetExhausted,
    ConfigurationError,
    JudgeError,
    JudgeTimeout,
    JudgeUnavailable,
)
from rag_monitor.judges.factory import make_judge
from rag_monitor.judges.judge import ConversationJudge
from rag_monitor.sampling.hash_sampling import is_sampled
from rag_monitor.store.session_verdicts import SessionVerdicts
from rag_monitor.store.store import Store

_log = logging.getLogger(__name__)

NOT_DRAWN: Final = "not_drawn"
_WITHHELD: Final = "no_questions"
_FAILED: Final = "failed"
_HISTORY: Final = timedelta(hours=6)
"""What ended before is history, as imports bring it: nobody waits for it."""
_BATCH: Final = 8
"""Sessions judged together."""
_FIRST_WAIT: Final = timedelta(minutes=1)
_LONGEST_WAIT: Final = timedelta(hours=1)
_BROKE_WAIT: Final = timedelta(minutes=10)
"""Until a spent budget is looked at again."""
_LATER: Final = (BudgetExhausted, JudgeUnavailable, JudgeTimeout)


class SessionJudging:
    """Judges sessions one after the other as they end. A session that goes on is judged again.

    Args:
        verdicts: Which sessions wait, and where verdicts are kept.
        judge: Who is asked.
        clock: The time.
        options: Which sessions, and how much of each.
        salt: Of the draw.
    """

    def __init__(
        self,
        verdicts: SessionVerdicts,
        judge: ConversationJudge,
        clock: Clock,
        options: SessionOptions,
        salt: str,
    ) -> None:
        self._verdicts = verdicts
        self._judge = judge
        self._clock = clock
        self._options = options
        self._salt = f"sessions {salt}"

    async def judge_due(self) -> int:
        """Judge one batch; returns how many sessions it had."""
        since = self._clock.now() - _HISTORY
        ended = await asyncio.to_thread(self._verdicts.waiting, since, _BATCH)
        if not ended:
            return 0
        turns = self._options.max_turns
        read = await asyncio.to_thread(self._verdicts.read, ended, turns)
        pairs = [(one, session) for one, session in zip(ended, read, strict=True) if session]
        verdicts = await asyncio.gather(*(self._verdict(one, session) for one, session in pairs))
        await asyncio.to_thread(self._verdicts.save, verdicts)
        # An erased session waits no longer once it is counted again; there may be nothing else.
        return len(pairs)

    async def close(self) -> None:
        """Release the judge."""
        await self._judge.close()

    async def _verdict(self, ended: EndedSession, session: Session) -> SessionVerdict:
        given: dict[str, Any] = {
            "project": ended.project,
            "session_id": ended.session_id,
            "turns": session.total,
            "upto": session.last_at,
            "ended": ended.ended,
            "judged_at": self._clock.now(),
        }
        name = f"{ended.project}\0{ended.session_id}"
        if not is_sampled(self._salt, name, self._options.rate):
            return SessionVerdict(**given, value=None, reason=NOT_DRAWN)
        turns = [
            EarlierTurn(question=turn.question, answer=turn.answer or "", trace_id=turn.trace_id)
            for turn in session.turns
            if turn.question and turn.question.strip()
        ]
        if not turns:
            return SessionVerdict(**given, value=None, reason=_WITHHELD)
        request = ConversationRequest(
            project=ended.project, turns=turns, left_out=session.total - len(session.turns)
        )
        try:
            reply = await self._judge.judge_conversation(request)
        except _LATER as error:
            return self._again(ended, given, error)
        except JudgeError as error:
            telemetry.dropped("sessions", error.reason)
            return SessionVerdict(**given, value=None, reason=error.reason)
        except Exception:  # noqa: BLE001 - a mistake of ours must not hold up its neighbours
            _log.exception("session %s cannot be judged", ended.session_id)
            telemetry.dropped("sessions", _FAILED)
            return SessionVerdict(**given, value=None, reason=_FAILED)
        suspect = reply.suspect
        return SessionVerdict(
            **given,
            value=None if suspect else reply.probability,
            judge=reply.judge,
            reason=suspect,
        )

    def _again(
        self, ended: EndedSession, given: Mapping[str, Any], error: JudgeError
    ) -> SessionVerdict:
        """No verdict yet: when the judge is asked again, and whether."""
        now = self._clock.now()
        retry_at: datetime | None
        if isinstance(error, BudgetExhausted):  # no call was made
            attempts, retry_at = ended.attempts, now + _BROKE_WAIT
        else:
            attempts = ended.attempts + 1
            wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2**ended.attempts)
            retry_at = now + wait if attempts < self._options.attempts else None
        if retry_at is None:
            telemetry.dropped("sessions", error.reason)
        return SessionVerdict(
            **given, value=None, reason=error.reason, attempts=attempts, retry_at=retry_at
        )


def create_session_judging(settings: Settings, store: Store, clock: Clock) -> SessionJudging | None:
    """As the settings say; None: sessions are not judged.

    Raises:
        UnknownJudge: There is no judge of the configured name.
        ConfigurationError: It judges no conversations, or its options cannot be used.
    """
    name = settings.sessions.judge
    if name is None:
        return None
    # A calibration is of verdicts on traces.
    table = {k: v for k, v in settings.judges.get(name, {}).items() if k != "calibration"}
    tables = {**settings.judges, **({name: table} if table else {})}
    judge: object = make_judge(name, tables, ledger=store.budgets, cache=store.replies)
    if not isinstance(judge, ConversationJudge):
        raise ConfigurationError(
            "`sessions.judge` = {name!r}: it judges no conversations; one of kind "
            "openai_compatible does",
            name=name,
        )
    return SessionJudging(
        store.session_verdicts, judge, clock, settings.sessions, settings.sampling.salt
    )
