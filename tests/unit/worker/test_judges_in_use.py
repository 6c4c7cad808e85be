"""Which judges a worker runs for which settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_monitor.config import Settings, load_settings
from rag_monitor.domain.judgement import Aspect, JudgeRequest
from rag_monitor.errors import ConfigurationError
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.worker.judging import create_plan
from tests.db import new_sqlite

DOUBTFUL = JudgeRequest(
    question="",
    answer="The ferry sails at noon. It is red. It is fast.",
    contexts=("The ferry sails at noon.",),
    aspects=frozenset({Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED}),
)


def settings(folder: Path, text: str) -> Settings:
    path = folder / "rag_monitor.toml"
    path.write_text(text, encoding="utf-8")
    return load_settings(path, {})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    options = StoreOptions(url=new_sqlite(tmp_path / "monitor.db"), ballast_bytes=0)
    with Store.open(options) as opened:
        yield opened


def test_words_alone_stand_in_when_judging_lags(tmp_path: Path, store: Store) -> None:
    plan = create_plan(settings(tmp_path, ""), store)

    assert plan.baseline.identity.name == "embedded"
    assert plan.fallback is not None
    assert plan.fallback.identity.name == "embedded-lexical"


async def test_the_stand_in_keeps_to_the_limits_of_the_judge_it_stands_in_for(
    tmp_path: Path, store: Store
) -> None:
    text = "[judges.embedded]\nmax_statements = 2\nthreshold = 0.25\nencoder_threads = 2\n"
    plan = create_plan(settings(tmp_path, text), store)
    assert plan.fallback is not None

    judgement = await plan.fallback.judge(DOUBTFUL)

    assert judgement.threshold == 0.25
    assert len(judgement.of(Aspect.SUPPORT)) == 2


async def test_a_table_of_its_own_comes_first(tmp_path: Path, store: Store) -> None:
    text = "[judges.embedded]\nthreshold = 0.25\n[judges.embedded-lexical]\nthreshold = 0.5\n"
    plan = create_plan(settings(tmp_path, text), store)
    assert plan.fallback is not None

    assert (await plan.fallback.judge(DOUBTFUL)).threshold == 0.5


def test_who_chose_words_alone_has_no_stand_in(tmp_path: Path, store: Store) -> None:
    plan = create_plan(settings(tmp_path, 'judge = "embedded-lexical"\n'), store)

    assert plan.baseline.identity.name == "embedded-lexical"
    assert plan.fallback is None


def test_a_mistyped_table_stops_the_worker(tmp_path: Path, store: Store) -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'embedded'"):
        create_plan(settings(tmp_path, "[judges.embeded]\nthreshold = 0.25\n"), store)


def test_a_judge_that_nobody_asks_is_named(
    tmp_path: Path, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    text = '[judges.big]\nkind = "openai_compatible"\nbase_url = "http://x"\nmodel = "m"\n'
    create_plan(settings(tmp_path, text), store)

    assert "[judges.big]: judges no traffic, which goes to `judge` = 'embedded'" in caplog.text


def test_a_budget_under_a_name_that_no_judge_spends_by_is_refused(
    tmp_path: Path, store: Store
) -> None:
    text = "[store.budgets.openai-compatible]\nmoney = 5\n"

    with pytest.raises(ConfigurationError, match="did you mean 'openai_compatible'"):
        create_plan(settings(tmp_path, text), store)
