import json
from pathlib import Path

import pytest

from rag_monitor.domain.judgement import Aspect, JudgeRequest
from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.calibration import Calibration, read_calibration
from rag_monitor.judges.embedded import EmbeddedJudge, create
from rag_monitor.statistics.calibration import Isotonic, Platt
from tests.unit.judges.embedded import cases

SHIPPED = str(cases.judge().identity)


def written(path: Path, calibration: Calibration) -> Path:
    path.write_text(calibration.dump({"rows": 100}), encoding="utf-8")
    return path


def halving(judge: str = SHIPPED) -> Calibration:
    return Calibration(judge=judge, map=Isotonic((0.0, 1.0), (0.0, 0.5)), threshold=0.4)


def test_a_calibration_changes_answer_supported_its_threshold_and_the_identity(
    tmp_path: Path,
) -> None:
    path = written(tmp_path / "c.json", halving())
    judge = create({"calibration": str(path)})
    before = cases.judged("", ("The ferry is red.",), "The ferry is red.")
    after = judge.judge_one(
        JudgeRequest(
            question="",
            answer="The ferry is red.",
            contexts=("The ferry is red.",),
            aspects=frozenset({Aspect.ANSWER_SUPPORTED, Aspect.SUPPORT}),
        )
    )

    [old], [new] = before.of(Aspect.ANSWER_SUPPORTED), after.of(Aspect.ANSWER_SUPPORTED)
    assert new.probability == pytest.approx(old.probability / 2)
    assert new.raw == old.raw
    assert after.threshold == 0.4
    assert after.identity.calibration == halving().version != before.identity.calibration
    assert after.of(Aspect.SUPPORT) == before.of(Aspect.SUPPORT)


def test_a_threshold_of_ones_own_wins_over_the_files(tmp_path: Path) -> None:
    path = written(tmp_path / "c.json", halving())

    judge = create({"calibration": str(path), "threshold": 0.9})

    assert judge.identity.calibration == halving().version
    assert isinstance(judge, EmbeddedJudge)


def test_a_file_says_the_same_after_reading(tmp_path: Path) -> None:
    platt = Calibration(judge=SHIPPED, map=Platt(1.25, -0.5), threshold=0.3)

    assert read_calibration(written(tmp_path / "c.json", platt), SHIPPED) == platt


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"threshold": 0.1}, "was changed"),
        ({"format": 9}, "format 9"),
        ({"method": "spline"}, "unknown method"),
        ({"x": [0.0]}, "as many points"),
    ],
)
def test_a_file_that_was_edited_is_refused(
    tmp_path: Path, change: dict[str, object], complaint: str
) -> None:
    path = written(tmp_path / "c.json", halving())
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))

    with pytest.raises(ConfigurationError, match=complaint):
        read_calibration(path, SHIPPED)


def test_a_calibration_of_other_weights_is_refused_with_a_way_out(tmp_path: Path) -> None:
    path = written(tmp_path / "c.json", halving("embedded-lexical/old"))

    with pytest.raises(ConfigurationError, match="rag-monitor calibrate"):
        create({"calibration": str(path)})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"none\.json"):
        create({"calibration": str(tmp_path / "none.json")})


def test_a_calibration_of_the_variant_by_words_alone_is_refused_with_a_way_to_keep_it(
    tmp_path: Path,
) -> None:
    path = written(tmp_path / "c.json", halving(str(cases.variant("lexical").identity)))

    with pytest.raises(ConfigurationError, match="keep it for judge = "):
        create({"calibration": str(path)})
