"""Several judges as one."""

from __future__ import annotations

import pytest

from rag_monitor.domain.judgement import Aspect
from rag_monitor.errors import ConfigurationError, JudgeUnavailable
from rag_monitor.judges.ensemble import EnsembleJudge
from rag_monitor.telemetry import REGISTRY
from rag_monitor.testing import ScriptedJudge
from tests.unit.judges.requests import warranty


def observed(aspect: str) -> float:
    value = REGISTRY.get_sample_value("rag_monitor_judge_disagreement_sum", {"aspect": aspect})
    return value or 0.0


async def test_verdicts_are_averaged_and_disagreement_is_exported() -> None:
    judges = [ScriptedJudge({Aspect.GRADE: value}, name=str(value)) for value in (0.2, 0.8)]
    before = observed("grade")

    judgement = await EnsembleJudge(judges).judge(warranty(aspects=frozenset({Aspect.GRADE})))

    (verdict,) = judgement.verdicts
    assert verdict.probability == pytest.approx(0.5)
    assert verdict.reason == "spread 0.60"
    assert observed("grade") - before == pytest.approx(0.6)
    assert judgement.usage.calls == 2


async def test_statements_are_split_once_for_all() -> None:
    judges = [ScriptedJudge(), ScriptedJudge(name="b")]

    await EnsembleJudge(judges).judge(warranty())

    assert judges[0].requests[0].statements == judges[1].requests[0].statements
    assert len(judges[0].requests[0].statements or ()) == 2


async def test_one_failing_judge_fails_the_trace() -> None:
    ensemble = EnsembleJudge([ScriptedJudge(), ScriptedJudge(lambda _: JudgeUnavailable())])

    with pytest.raises(JudgeUnavailable):
        await ensemble.judge(warranty())


def test_one_judge_is_no_ensemble() -> None:
    with pytest.raises(ConfigurationError, match="at least two"):
        EnsembleJudge([ScriptedJudge()])
