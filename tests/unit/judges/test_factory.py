"""Judges as the settings describe them: kinds, ensembles, calibrations."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rag_monitor.domain.judgement import Aspect
from rag_monitor.errors import ConfigurationError, UnknownJudge
from rag_monitor.judges import ray as on_ray
from rag_monitor.judges import registry
from rag_monitor.judges.calibration import Calibration
from rag_monitor.judges.factory import check_tables, kind_of, make_judge, unused_tables
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


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, "must name the judge"),
        ({"judge": "embedded", "actor": 3}, "no setting 'actor'"),
        ({"judge": "embedded", "actors": 0}, "at least 1"),
        ({"judge": "embedded", "actors": "many"}, "actors: "),
        ({"judge": "embedded", "start_s": 0}, "must be positive"),
        ({"judge": "openai_compatible"}, "asks a server"),
        ({"judge": "panel"}, "made of other judges"),
        ({"judge": "cluster"}, "made of other judges"),
    ],
)
def test_a_judge_on_ray_that_cannot_be_is_refused_with_its_name(
    table: dict[str, object], words: str
) -> None:
    tables = {"cluster": {"kind": "ray", **table}, "panel": {"kind": "ensemble", "members": []}}

    with pytest.raises(ConfigurationError, match=rf"\[judges\.cluster\].*{words}"):
        make_judge("cluster", tables)


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "rag_monitor.judges.ray.judge", raising=False)
    monkeypatch.delattr(on_ray, "cluster", raising=False)

    with pytest.raises(ConfigurationError, match=r"pip install .*\[ray\]"):
        make_judge("cluster", {"cluster": {"kind": "ray", "judge": "embedded"}})


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("embedded", "embedded"),
        ("strict", "embedded"),
        ("cluster", "packed"),
        ("local", "embedded"),
        ("selfish", "ray"),
    ],
)
def test_where_a_judge_runs_is_no_part_of_its_name(name: str, kind: str) -> None:
    tables = {
        "strict": {"kind": "embedded"},
        "cluster": {"kind": "ray", "judge": "packed"},
        "local": {"kind": "ray", "judge": "strict"},
        "selfish": {"kind": "ray", "judge": "selfish"},
    }

    assert kind_of(name, tables) == kind


def test_a_name_nobody_knows_lists_the_known_ones() -> None:
    with pytest.raises(UnknownJudge, match="openai_compatible"):
        make_judge("oracle", {})


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"embeded": {"threshold": 0.3}}, r"\[judges.embeded\].*did you mean 'embedded'"),
        ({"mine": {"model": "m"}}, r"no judge is called 'mine'; .*kind = "),
        ({"mine": {"kind": "openai-compatible"}}, "did you mean 'openai_compatible'"),
        ({"mine": {"kind": 5}}, "no judge of the kind '5'"),
    ],
)
def test_a_table_that_is_no_judges_is_refused_with_the_nearest_name(
    tables: dict[str, dict[str, object]], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        check_tables(tables)


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        (
            {"openai_compatible": {"base_ulr": "http://127.0.0.1:1/v1"}},
            r"\[judges.openai_compatible\] has no setting 'base_ulr' \(did you mean 'base_url'\?\)",
        ),
        (
            {"mine": {"kind": "openai_compatible", "limits": {"concurency": 3}}},
            r"\[judges.mine.limits\] has no setting 'concurency' \(did you mean 'concurrency'",
        ),
        ({"openai_compatible": {"price": {"input": 1}}}, r"\[judges.openai_compatible.price\]"),
        ({"packed": {"batch_token": 4}}, "did you mean 'batch_tokens'"),
        ({"embedded-lexical": {"treshold": 0.3}}, "did you mean 'threshold'"),
        ({"both": {"kind": "ensemble", "member": []}}, "did you mean 'members'"),
        ({"many": {"kind": "ray", "actor": 2}}, "did you mean 'actors'"),
    ],
)
def test_a_misspelled_setting_is_refused_although_nobody_asks_the_judge(
    tables: dict[str, dict[str, object]], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        check_tables(tables)


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("reasks", "three", r"\[judges.openai_compatible\] reasks: .* valid integer"),
        ("verdicts", "votes", r"\[judges.openai_compatible\] verdicts: .*'structured', 'logprobs'"),
        ("limits", {"concurrency": []}, r"\[judges.openai_compatible\] limits.concurrency: "),
        ("extra_body", "x", r"\[judges.openai_compatible\] extra_body: "),
    ],
)
def test_a_setting_of_a_wrong_type_is_named(setting: str, value: object, said: str) -> None:
    table = {"base_url": "http://127.0.0.1:1/v1", "model": "m", setting: value}
    with pytest.raises(ConfigurationError, match=said):
        make_judge("openai_compatible", {"openai_compatible": table})


def test_settings_of_an_unused_judge_are_read_without_its_library() -> None:
    code = (
        "import sys\n"
        "from rag_monitor.judges.factory import check_tables\n"
        "check_tables({'openai_compatible': {'model': 'm'}, 'packed': {'model': 'm'}})\n"
        "sys.exit(bool({'openai', 'torch', 'transformers'} & set(sys.modules)))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_tables_of_judges_are_taken() -> None:
    check_tables(
        {
            "embedded": {},
            "mine": {"kind": "openai_compatible"},
            "both": {"kind": "ensemble", "members": ["mine", "embedded"]},
            "many": {"kind": "ray", "judge": "embedded"},
        }
    )


def test_a_table_is_unused_unless_a_judge_in_use_reads_it() -> None:
    tables = {
        "mine": {"kind": "openai_compatible"},
        "other": {"kind": "openai_compatible"},
        "both": {"kind": "ensemble", "members": ["mine", "embedded"]},
        "many": {"kind": "ray", "judge": "both"},
    }

    assert unused_tables(tables, ["many"]) == ["other"]
    assert unused_tables(tables, ["embedded"]) == ["mine", "other", "both", "many"]


def test_a_setting_keeps_its_former_name() -> None:
    check_tables({"openai_compatible": {"model": "m", "limits": {"lonely_attempts": 2}}})
