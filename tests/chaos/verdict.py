"""What the database must hold afterwards, asked past our own code."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from typing import Any

from tests.chaos.cluster import Cluster
from tests.chaos.judge import stubborn, truth

METRICS = ("faithfulness", "answer_relevance", "context_relevance")
"""What is computed of every trace."""
_LOST_SHOWN = 3
_JUDGE = "openai_compatible"


def waiting(cluster: Cluster) -> int:
    """Traces not assembled and tasks not finished."""
    ((traces,),) = cluster.rows("SELECT count(*) FROM trace_keys WHERE due_at IS NOT NULL")
    ((tasks,),) = cluster.rows("SELECT count(*) FROM evaluation_tasks WHERE state <> 'parked'")
    ((minutes,),) = cluster.rows("SELECT count(*) FROM dirty_minutes")
    return int(traces + tasks + minutes)


def judged(
    cluster: Cluster, acknowledged: Collection[str], stubborn_share: float
) -> dict[str, Any]:
    """Everything that can be wrong, counted; each should be 0 but for the figures that say so."""
    ids = set(acknowledged)
    stored = [row[0] for row in cluster.rows("SELECT trace_id FROM spans")]
    derived = [row[0] for row in cluster.rows("SELECT trace_id FROM traces")]
    lost = ids - set(stored)
    return {
        "acknowledged": len(acknowledged),
        "lost": len(lost),
        "lost_for_example": sorted(lost)[:_LOST_SHOWN],
        "stored_twice": len(stored) - len(set(stored)),
        "never_assembled": len(ids - set(derived)),
        "assembled_twice": len(derived) - len(set(derived)),
        **_embedded(cluster, len(derived)),
        **_scripted(cluster, stubborn_share),
        "rollups_wrong": _rollups(cluster),
        "parked": cluster.rows("SELECT count(*) FROM evaluation_tasks WHERE state = 'parked'")[0][
            0
        ],
        "waiting": waiting(cluster),
    }


def _embedded(cluster: Cluster, traces: int) -> dict[str, int]:
    """The judge that sees everything: exactly one score per trace and metric."""
    ((pairs, scores),) = cluster.rows(
        "SELECT count(DISTINCT (trace_id, metric)), count(*) FROM scores "
        "WHERE judge NOT LIKE %s AND NOT superseded",
        (f"{_JUDGE}%",),
    )
    return {
        "scores": scores,
        "scores_missing": traces * len(METRICS) - pairs,
        "scores_doubled": scores - pairs,
    }


def _scripted(cluster: Cluster, stubborn_share: float) -> dict[str, Any]:
    """The sampled judge: one score per drawn trace and metric, and only numbers it said."""
    drawn = {
        row[0]
        for row in cluster.rows(
            "SELECT trace_id FROM decisions WHERE judge = %s AND included", (_JUDGE,)
        )
    }
    rows = cluster.rows(
        "SELECT trace_id, metric, status, reason, verdicts FROM scores "
        "WHERE judge LIKE %s AND NOT superseded",
        (f"{_JUDGE}%",),
    )
    seen = Counter((trace_id, metric) for trace_id, metric, *_ in rows)
    garbage = 0
    from_stubborn = 0
    for trace_id, _, status, _, verdicts in rows:
        if status != "scored":
            continue
        from_stubborn += stubborn(trace_id, stubborn_share)
        garbage += any(not _is_truth(trace_id, verdict) for verdict in json.loads(verdicts))
    return {
        "judge_drawn": len(drawn),
        "judge_scores": len(rows),
        "judge_scores_missing": sum(
            (trace_id, metric) not in seen for trace_id in drawn for metric in METRICS
        ),
        "judge_scores_doubled": sum(count - 1 for count in seen.values()),
        "judge_scores_not_drawn": len({trace_id for trace_id, _ in seen} - drawn),
        "garbage_accepted": garbage,
        "scored_though_never_answered": from_stubborn,
        "judge_scored": sum(status == "scored" for _, _, status, _, _ in rows),
        "judge_reasons": dict(
            Counter(str(reason) for _, _, status, reason, _ in rows if status == "failed")
        ),
    }


def _is_truth(trace_id: str, verdict: dict[str, Any]) -> bool:
    said = verdict.get("raw", verdict["probability"])
    aspect, index = verdict["aspect"], verdict.get("index", 0)
    # What the judge wrote into a list (key points) has the first number of that list.
    expected = {truth(trace_id, aspect, index), truth(trace_id, "inferred_key_points", 0)}
    return any(abs(said - value) < 1e-9 for value in expected)


def _rollups(cluster: Cluster) -> int:
    """Judges and metrics whose rollups do not add up to their scores."""
    counted = {
        (judge, metric): count
        for judge, metric, count in cluster.rows(
            "SELECT judge, metric, sum(count)::bigint FROM rollups "
            "WHERE judge <> 'combined' AND dimension = '' GROUP BY 1, 2"
        )
        if count
    }
    scored = {
        (judge, metric): count
        for judge, metric, count in cluster.rows(
            "SELECT judge, metric, count(*) FROM scores "
            "WHERE status = 'scored' AND NOT superseded GROUP BY 1, 2"
        )
    }
    return sum(counted.get(key) != count for key, count in scored.items())
