"""Sessions of the traces in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from rag_monitor.domain.conversation import EarlierTurn
from rag_monitor.domain.session import Neighbours, Session, SessionPage, SessionQuery, Turn
from rag_monitor.domain.stored import StoredTrace
from rag_monitor.errors import MalformedPayload, NotFound
from rag_monitor.store.page_cursor import decode_cursor


class FakeSessions:
    """Reads the stored traces of `FakeTraces`."""

    def __init__(self, stored: Mapping[tuple[str, str], StoredTrace]) -> None:
        self._stored = stored
        self.queries: list[SessionQuery] = []

    def search(
        self, query: SessionQuery, keep: Callable[[Session], bool] | None = None
    ) -> SessionPage:
        self.queries.append(query)
        if query.cursor is not None:
            raise MalformedPayload("bad cursor")
        ids = {
            one.trace.session_id
            for one in self._stored.values()
            if one.trace.project == query.project and query.app in {None, one.trace.app}
        }
        found = [self.get(query.project, session) for session in sorted(ids - {None})]  # type: ignore[type-var]
        items = [session for session in found if keep is None or keep(session)]
        return SessionPage(items=tuple(sorted(items, key=lambda s: s.last_at, reverse=True)))

    def get(
        self, project: str, session_id: str, *, cursor: str | None = None, limit: int = 200
    ) -> Session:
        before = None if cursor is None else decode_cursor(cursor)
        turns = [
            _turn(one)
            for one in self._stored.values()
            if (one.trace.project, one.trace.session_id) == (project, session_id)
        ]
        if not turns:
            raise NotFound("project {project!r} has no session", project=project)
        turns.sort(key=lambda turn: (turn.started_at, turn.trace_id))
        shown = [t for t in turns if before is None or (t.started_at, t.trace_id) < before]
        return Session(
            session_id=session_id,
            total=len(turns),
            first_at=turns[0].started_at,
            last_at=turns[-1].started_at,
            turns=tuple(shown[-limit:]),
        )

    def neighbours(
        self, project: str, session_id: str, started_at: datetime, trace_id: str
    ) -> Neighbours:
        ids = [turn.trace_id for turn in self.get(project, session_id).turns]
        place = ids.index(trace_id)
        return Neighbours(
            previous=ids[place - 1] if place else None,
            following=ids[place + 1] if place + 1 < len(ids) else None,
        )


class FakeEarlierTurns:
    """The stored traces of `FakeTraces`, as earlier turns."""

    def __init__(self, stored: Mapping[tuple[str, str], StoredTrace]) -> None:
        self._stored = stored

    def named(self, project: str, trace_ids: Sequence[str]) -> list[EarlierTurn]:
        found = [self._stored.get((project, trace_id)) for trace_id in trace_ids]
        traces = sorted((one.trace for one in found if one), key=lambda trace: trace.started_at)
        return [
            EarlierTurn(question=t.question or "", answer=t.answer or "", trace_id=t.trace_id)
            for t in traces
        ]


def _turn(stored: StoredTrace) -> Turn:
    trace = stored.trace
    supported = [score for score in stored.scores if score.metric == "answer_supported"]
    return Turn(
        trace_id=trace.trace_id,
        app=trace.app,
        release=trace.release,
        environment=trace.environment,
        user_id=trace.user_id,
        tags=tuple(trace.tags),
        started_at=trace.started_at,
        status=trace.status,
        error=trace.error,
        question=trace.question,
        answer=trace.answer,
        timings=trace.timings,
        hits=tuple(trace.hits),
        scores={score.metric: score.value for score in stored.scores},
        flagged=supported[0].flagged if supported else None,
        faults=stored.faults,
        feedback=stored.feedback,
    )
