"""What judging a trace has cost: the ledger's sums over the traces they were spent on."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

from sqlalchemy import func, or_, select

from rag_monitor.domain.judgement import JudgeUsage
from rag_monitor.domain.stored import MeasuredUsage
from rag_monitor.store.engine import Database
from rag_monitor.store.tables import budgets, scores

_FAILED = "failed"


class Spending:
    """Reads what the budget ledger and the scores say together."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def measured(self, project: str, judge: str) -> MeasuredUsage | None:
        """What the newest UTC day with spending cost, and how many traces were scored for it.

        Probes, retries and failed judgements are in the sums, so that the mean per trace is what a
        further trace may be expected to cost.

        Args:
            project: Whose.
            judge: `JudgeIdentity.name`, as in the ledger.

        Returns:
            None where this judge has spent nothing yet, or has scored nothing for it.
        """
        spent = budgets.c.tokens + budgets.c.gpu_seconds > 0
        newest = (
            select(budgets)
            .where(budgets.c.project == project, budgets.c.judge == judge, spent)
            .order_by(budgets.c.day.desc())
            .limit(1)
        )
        with self._database.read() as connection:
            row = connection.execute(newest).one_or_none()
            if row is None:
                return None
            begin = datetime.combine(row.day, time(), UTC)
            scored = select(func.count(scores.c.trace_id.distinct())).where(
                scores.c.project == project,
                or_(
                    scores.c.judge == judge, scores.c.judge.startswith(f"{judge}/", autoescape=True)
                ),
                scores.c.status != _FAILED,
                scores.c.created_at >= begin,
                scores.c.created_at < begin + timedelta(days=1),
            )
            traces = connection.execute(scored).scalar_one()
        if not traces:
            return None
        return MeasuredUsage(
            traces=traces,
            usage=JudgeUsage(input_tokens=row.tokens, gpu_seconds=row.gpu_seconds, cost=row.money),
        )
