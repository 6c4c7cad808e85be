"""Judges as the settings describe them: kinds, ensembles, calibrations."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_monitor.domain.judgement import Aspect
from rag_monitor.errors import ConfigurationError, UnknownJudge
from rag_monitor.judges import registry
from rag_monitor.judges.calibration import Calibration
from rag_monitor.judges.configured import make_judge
from rag_monitor.judges.judge import Judge
from rag_monitor.statistics.calibration import Platt
from rag_monitor.testing import ScriptedJudge
from tests.unit.judges.requests import warranty


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judges of another package: `low` says 0.2, `high` says 0.8."""
    genuine = registry.create

    def create(name: str, options: object = None, **services: object) -> Judge:
        values = {"low": 0.2, "high": 0.8}
        if name not in values:
            return genuine(name, options, **services)  # type: ignore[arg-type]
        assert not options, "a judge of another package must not see our settings"
        return ScriptedJudge(dict.fromkeys(Aspect, values[name]), name=name)

    monkeypatch.setattr(registry, "create", create)


def written(path: Path, judge: Judge, threshold: float = 0.3) -> str:
    """A calibration file for `judge`, and its version."""
    calibration = Calibration(
        judge=str(judge.identity), map=Platt(slope=1.0, intercept=2.0), threshold=threshold
    )
    path.write_text(calibration.dump({}), encoding="utf-8")
    return calibration.version


async def test_a_stored_calibration_is_applied_and_named_whoever_the_judge_is(
    tmp_path: Path,
) -> None:
    path = tmp_path / "c.json"
    plain = make_judge("high", {})
    version = written(path, plain)

    judge = make_judge("high", {"high": {"calibration": str(path)}})
    judgement = await judge.judge(warranty(aspects=frozenset({Aspect.ANSWER_SUPPORTED})))

    (verdict,) = judgement.of(Aspect.ANSWER_SUPPORTED)
    assert judge.identity.calibration == judgement.identity.calibration == version
    assert verdict.probability == pytest.approx(Platt(1.0, 2.0).apply(0.8))
    assert verdict.raw == 0.8
    assert judgement.threshold == 0.3


async def test_the_embedded_judge_takes_the_file_in_place_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    version = written(path, make_judge("embedded", {}))

    judge = make_judge("embedded", {"embedded": {"calibration": str(path)}})

    assert judge.identity.calibration == version
    assert (await judge.judge(warranty())).threshold == 0.3


def test_a_calibration_of_another_judge_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "c.json", make_judge("low", {}))

    with pytest.raises(ConfigurationError, match="belongs to low"):
        make_judge("high", {"high": {"calibration": str(tmp_path / "c.json")}})


def test_a_table_of_any_name_says_which_judge_it_is_for() -> None:
    judge = make_judge("strict", {"strict": {"kind": "embedded", "threshold": 0.9}})

    assert judge.identity == make_judge("embedded", {}).identity


async def test_an_ensemble_asks_the_members_it_names() -> None:
    judge = make_judge("panel", {"panel": {"kind": "ensemble", "members": ["low", "high"]}})

    judgement = await judge.judge(warranty(aspects=frozenset({Aspect.GRADE})))

    assert judgement.of(Aspect.GRADE)[0].probability == pytest.approx(0.5)
    assert judge.identity.name == "ensemble"


async def test_an_ensemble_can_be_calibrated_like_any_judge(tmp_path: Path) -> None:
    members = {"kind": "ensemble", "members": ["low", "high"]}
    version = written(tmp_path / "c.json", make_judge("panel", {"panel": members}))

    judge = make_judge("panel", {"panel": members | {"calibration": str(tmp_path / "c.json")}})

    assert judge.identity.calibration == version


@pytest.mark.parametrize(
    "table",
    [{}, {"members": "low"}, {"members": ["low", "high"], "models": []}, {"members": ["ensemble"]}],
)
def test_an_ensemble_that_cannot_be_is_refused_with_its_name(table: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=r"judges\.ensemble"):
        make_judge("ensemble", {"ensemble": table})


def test_a_name_nobody_knows_lists_the_known_ones() -> None:
    with pytest.raises(UnknownJudge, match="openai_compatible"):
        make_judge("oracle", {})
