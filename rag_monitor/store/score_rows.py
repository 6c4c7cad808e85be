"""Scores and sampling decisions as rows, and back; scores in the order in which they were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any, Final, cast

from sqlalchemy import false, func, select

from rag_monitor.domain.decision import SamplingDecision, SamplingReason
from rag_monitor.domain.judgement import Aspect, JudgeIdentity, JudgeUsage, Verdict
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import PlacedScore
from rag_monitor.i18n import made_of, recipe
from rag_monitor.store.cursors import Cursors
from rag_monitor.store.tables import scores

_ALWAYS: Final = frozenset({"name", "model", "prompts", "calibration"})
_VERDICT_FIELDS: Final = tuple(field.name for field in fields(Verdict))


def dump_score(score: Score) -> dict[str, Any]:
    """The columns of a score that do not name its trace."""
    return {
        "metric": score.metric,
        "judge": "" if score.judge is None else str(score.judge),
        "identity": None if score.judge is None else _dump_identity(score.judge),
        "status": score.status.value,
        "value": score.value,
        "reason": score.reason,
        "detail": score.detail,
        "message": recipe(score.detail),
        "flagged": score.flagged,
        "inferred": score.inferred,
        "verdicts": [_dump_verdict(verdict) for verdict in score.verdicts],
        "created_at": score.created_at,
    }


def _dump_identity(judge: JudgeIdentity) -> dict[str, str]:
    """Its fields; what a release before did not know stands there only where it says something."""
    return {name: value for name, value in asdict(judge).items() if value or name in _ALWAYS}


def load_score(row: Any) -> Score:
    """A row of `scores`; without its verdicts where they were not selected."""
    identity = row.identity
    return Score(
        metric=row.metric,
        status=ScoreStatus(row.status),
        value=row.value,
        reason=row.reason,
        detail=_load_detail(row),
        flagged=row.flagged,
        judge=None if identity is None else JudgeIdentity(**identity),
        verdicts=tuple(_load_verdict(item) for item in row._mapping.get("verdicts") or ()),
        created_at=row.created_at,
        inferred=row.inferred,
    )


def _load_detail(row: Any) -> str | None:
    """A message again, where it was one: a page says it in its own language.

    A release that does not know the column may have written another detail beside it.
    """
    made, detail = row._mapping.get("message"), cast("str | None", row.detail)
    if made is None or detail is None:
        return detail
    message = made_of(made, detail)
    is_of_it = message.given(**message.params)[1:] == detail[1:]  # it may begin lowered
    return message if is_of_it else detail


def dump_decision(decision: SamplingDecision) -> dict[str, Any]:
    """The columns of a decision that do not name its trace."""
    return {
        "judge": decision.judge,
        "included": decision.included,
        "probability": decision.probability,
        "reason": decision.reason.value,
        "stratum": decision.stratum,
        "salt": decision.salt,
        "usage": None if decision.usage is None else asdict(decision.usage),
        "history": list(decision.history) or None,
    }


def load_decision(row: Any) -> SamplingDecision:
    """A row of `decisions`."""
    return SamplingDecision(
        judge=row.judge,
        included=row.included,
        probability=row.probability,
        reason=SamplingReason(row.reason),
        stratum=row.stratum,
        salt=row.salt,
        usage=None if row.usage is None else JudgeUsage(**row.usage),
        history=tuple(row.history or ()),
    )


def _dump_verdict(verdict: Verdict) -> dict[str, Any]:
    # `asdict` would copy every text deeply, and takes ten times as long.
    values = ((name, getattr(verdict, name)) for name in _VERDICT_FIELDS)
    return {name: value for name, value in values if value is not None}


def _load_verdict(item: Mapping[str, Any]) -> Verdict:
    return Verdict(**{**item, "aspect": Aspect(item["aspect"])})


class ScoreExportFeed(Cursors):
    """Reads new scores of all projects; a cursor says up to when they were passed on."""

    def between(self, after: datetime, until: datetime, limit: int) -> list[PlacedScore]:
        """Current scores made after `after` and no later than `until`, oldest first.

        About `limit` of them: scores of the same microsecond are never torn apart, so that the time
        of the last one is a cursor.
        """
        made = scores.c.created_at
        new = (made > after, made <= until, scores.c.superseded == false())
        first = select(made).where(*new).order_by(made).limit(limit).subquery()
        with self._database.read() as connection:
            last = connection.execute(select(func.max(first.c.created_at))).scalar_one()
            if last is None:
                return []
            columns = [column for column in scores.c if column.name != "verdicts"]
            rows = connection.execute(
                select(*columns)
                .where(made > after, made <= last, scores.c.superseded == false())
                .order_by(made, scores.c.trace_id, scores.c.metric, scores.c.judge)
            ).all()
        return [
            PlacedScore(
                project=row.project, trace_id=row.trace_id, app=row.app, score=load_score(row)
            )
            for row in rows
        ]
