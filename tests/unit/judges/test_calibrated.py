"""A calibrated judge maps the numbers of another and says so in its identity."""

from __future__ import annotations

import pytest

from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest, Verdict
from rag_monitor.errors import ConfigurationError, JudgeUnavailable
from rag_monitor.judges.calibrated import Basis, CalibratedJudge, Calibration
from rag_monitor.statistics.calibration import Isotonic, Platt
from rag_monitor.testing import ScriptedJudge
from tests.unit.judges.requests import warranty

HALVED = Isotonic((0.0, 1.0), (0.0, 0.5))
MAPS = {Aspect.SUPPORT: HALVED}


def calibrated(judge: ScriptedJudge, **fields: object) -> CalibratedJudge:
    given = {"version": "c1", "maps": MAPS} | fields
    return CalibratedJudge(judge, Calibration(**given))  # type: ignore[arg-type]


async def test_mapped_aspects_change_and_keep_their_raw_number() -> None:
    judgement = await calibrated(ScriptedJudge(dict.fromkeys(Aspect, 0.8))).judge(warranty())

    for verdict in judgement.of(Aspect.SUPPORT):
        assert (verdict.probability, verdict.raw) == (pytest.approx(0.4), 0.8)
    assert {verdict.probability for verdict in judgement.of(Aspect.USEFULNESS)} == {0.8}


async def test_the_version_is_part_of_the_identity_and_of_every_judgement() -> None:
    plain = ScriptedJudge()
    judge = calibrated(plain)

    judgement = await judge.judge(warranty())

    assert judge.identity.calibration == "c1"
    assert judge.identity != plain.identity
    assert judgement.identity == judge.identity


@pytest.mark.parametrize(("given", "expected"), [(0.31, 0.31), (None, 0.5)])
async def test_the_threshold_of_the_calibration_replaces_the_judges(
    given: float | None, expected: float
) -> None:
    judgement = await calibrated(ScriptedJudge(), threshold=given).judge(warranty())

    assert judgement.threshold == expected


async def test_the_raw_number_is_mapped_when_the_calibration_was_learned_on_it() -> None:
    verdict = Verdict(aspect=Aspect.SUPPORT, probability=0.2, raw=-3.0)

    def answer(_request: JudgeRequest) -> Judgement:
        return Judgement(identity=ScriptedJudge().identity, verdicts=(verdict,))

    rising = Isotonic((-4.0, -2.0), (0.0, 1.0))
    judge = calibrated(ScriptedJudge(answer), maps={Aspect.SUPPORT: rising}, basis=Basis.RAW)

    (found,) = (await judge.judge(warranty())).verdicts

    assert (found.probability, found.raw) == (0.5, -3.0)


async def test_a_bare_yes_or_no_is_not_calibrated() -> None:
    verdict = Verdict(aspect=Aspect.SUPPORT, probability=1.0, raw=1.0, reason="text_verdict")

    def answer(_request: JudgeRequest) -> Judgement:
        return Judgement(identity=ScriptedJudge().identity, verdicts=(verdict,))

    assert (await calibrated(ScriptedJudge(answer)).judge(warranty())).verdicts == (verdict,)


async def test_the_identity_map_changes_no_number() -> None:
    same = calibrated(ScriptedJudge({Aspect.SUPPORT: 0.37}), maps={Aspect.SUPPORT: Platt(1.0, 0.0)})

    judgement = await same.judge(warranty(aspects=frozenset({Aspect.SUPPORT})))

    assert [v.probability for v in judgement.verdicts] == [pytest.approx(0.37)]


async def test_failures_pass_through_unchanged() -> None:
    error = JudgeUnavailable("down")

    (result,) = await calibrated(ScriptedJudge(lambda _: error)).judge_many([warranty()])

    assert result is error


def test_two_calibrations_in_a_row_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="c1"):
        CalibratedJudge(calibrated(ScriptedJudge()), Calibration(version="c2"))


@pytest.mark.parametrize(
    "fields", [{"version": ""}, {"threshold": 1.2}, {"maps": {Aspect.GRADE: HALVED}}]
)
def test_calibrations_that_make_no_sense_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        calibrated(ScriptedJudge(), **fields)
