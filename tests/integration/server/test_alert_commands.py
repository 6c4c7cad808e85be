"""`rag-monitor alerts` and `silences` against a real server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rag_monitor.cli import main
from rag_monitor.domain.clock import SystemClock
from rag_monitor.server.services import Services
from rag_monitor.testing import ManualClock
from tests.integration.server.test_client import serve
from tests.unit.server.fakes import make_services

Run = Callable[..., str]


@pytest.fixture
def services() -> Services:
    """The commands count from the time of this machine."""
    return make_services(clock=ManualClock(SystemClock().now()))


@pytest.fixture
def url(services: Services) -> Iterator[str]:
    yield from serve(services)


@pytest.fixture
def run(url: str, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command against the server; gives what it printed, remarks and errors included."""

    def command(*words: str, code: int = 0) -> str:
        with pytest.raises(SystemExit) as ended:
            main((*words, "--url", url))
        shown = capsys.readouterr()
        assert (ended.value.code or 0) == code, shown
        return shown.out + shown.err

    return command


def parsed(run: Run, *words: str) -> Any:
    return json.loads(run(*words, "--json"))


def test_open_alerts_are_listed_with_what_was_seen(run: Run, services: Services) -> None:
    known = services.alerts.load("default")
    open_ones = [one for one in known if one.state.value in {"firing", "pending"}]

    found = parsed(run, "alerts", "list")["alerts"]
    text = run("alerts", "list")
    chinese = run("alerts", "list", "--language", "zh")

    assert {one["id"] for one in found} == {one.id for one in open_ones}
    assert [one["state"] for one in found] == sorted(one["state"] for one in found)
    for one in found:
        assert f"{one['id']}  {one['state']}  {one['app']}  {one['rule']}  since " in text
        assert one["finding"]["summary"] in text
    assert "告警中" in chinese
    assert " UTC" in chinese


def test_past_alerts_are_listed_when_asked_for(run: Run, services: Services) -> None:
    every = parsed(run, "alerts", "list", "--state", "all")["alerts"]
    resolved = parsed(run, "alerts", "list", "--state", "resolved")["alerts"]

    assert len(every) == len(services.alerts.load("default"))
    assert {one["state"] for one in resolved} <= {"resolved"}


def test_an_app_that_is_not_there_is_told(run: Run) -> None:
    text = run("alerts", "list", "--app", "loan-asistant")
    chinese = run("alerts", "list", "--app", "loan-asistant", "--language", "zh")

    assert text.count("Did you mean 'loan-assistant'?") == 1
    assert "no alerts" in text
    assert "已存的数据中没有 'loan-asistant'，是否想用 'loan-assistant'？" in chinese
    assert "没有告警" in chinese


def test_an_alert_is_acknowledged(run: Run) -> None:
    first = parsed(run, "alerts", "list")["alerts"][0]

    text = run("alerts", "acknowledge", first["id"], "--by", "mei")

    assert text.strip() == f"{first['rule']} on {first['app']}: acknowledged by mei"
    assert "mei 已确认" in run("alerts", "list", "--language", "zh")


def test_an_alert_that_is_not_there_is_an_error(run: Run) -> None:
    assert "alert" in run("alerts", "acknowledge", "nothing", code=1)
    run("alerts", "acknowledge", "a/b", code=1)


def test_a_silence_is_made_shown_and_ended(run: Run) -> None:
    made = parsed(
        run, "silences", "create", "--rule", "faithfulness drop", "--for", "2h", "--comment", "v43"
    )
    listed = run("silences", "list")
    chinese = run("silences", "list", "--language", "zh")

    lasts = datetime.fromisoformat(made["ends_at"]) - datetime.fromisoformat(made["starts_at"])
    assert abs(lasts - timedelta(hours=2)) < timedelta(minutes=1)
    assert made["app"] == "*"
    assert f"{made['id']}  faithfulness drop on every app  until " in listed
    assert listed.rstrip().endswith("v43")
    assert "所有应用 的 faithfulness drop  直到 " in chinese
    assert run("silences", "end", made["id"]).strip() == f"ended {made['id']}"
    assert "nothing is silenced" in run("silences", "list")
    run("silences", "end", made["id"], code=1)


def test_a_silence_may_begin_later(run: Run) -> None:
    begins = (datetime.now(UTC) + timedelta(days=3)).replace(microsecond=0)

    text = run("silences", "create", "--app", "loan-assistant", "--from", begins.isoformat(),
               "--for", "90m")  # fmt: skip

    ends = begins + timedelta(minutes=90)
    assert "every rule on loan-assistant" in text
    assert f"{ends:%Y-%m-%d %H:%M} UTC" in text
    assert f"from {begins:%Y-%m-%d %H:%M} UTC" in run("silences", "list")


def test_what_is_over_is_shown_only_when_asked_for(run: Run, services: Services) -> None:
    parsed(run, "silences", "create", "--rule", "*", "--for", "1h")
    store: Any = services.silences
    (one,) = store.all("default")
    store.delete("default", one.id)
    before = datetime.now(UTC) - timedelta(hours=5)
    store.add(replace(one, starts_at=before, ends_at=before + timedelta(hours=1)))

    assert parsed(run, "silences", "list")["silences"] == []
    assert len(parsed(run, "silences", "list", "--all")["silences"]) == 1


@pytest.mark.parametrize(
    ("words", "english", "chinese"),
    [
        (["--for", "2h"], "say what to silence", "请说明静默什么"),
        (["--rule", "*"], "say how long", "请说明多久"),
        (["--rule", "*", "--for", "2h", "--to", "2030-01-01T00:00:00Z"], "say how long", "多久"),
        (["--rule", "*", "--for", "2 hours"], "a length such as 90m", "请写时长"),
        (["--rule", "*", "--for", "0h"], "a length such as 90m", "请写时长"),
        (["--rule", "*", "--for", "999999w"], "at most 366 days", "最长 366 天"),
        (["--rule", "*", "--for", "1h", "--from", "tomorrow"], "with its zone", "带时区的时间"),
        (["--rule", "*", "--for", "1h", "--from", "2030-01-01"], "with its zone", "带时区的时间"),
    ],
)
def test_a_silence_that_cannot_be_meant_is_refused(
    run: Run, words: list[str], english: str, chinese: str
) -> None:
    assert english in run("silences", "create", *words, code=2)
    assert chinese in run("silences", "create", *words, "--language", "zh", code=2)


def test_a_rule_that_is_not_there_is_told_with_the_nearest(run: Run) -> None:
    words = ("silences", "create", "--rule", "faithfulnes drop", "--for", "1h")

    assert "Did you mean 'faithfulness drop'?" in run(*words, code=1)
    assert "是否想用 'faithfulness drop'？" in run(*words, "--language", "zh", code=1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--for", "400d"), "`ends_at`：最长 366 天"),
        (("--to", "2020-01-01T00:00:00Z"), "`ends_at`：必须晚于现在"),
        (("--to", "2020-01-01"), "`ends_at`：应为带时区的时间"),
    ],
)
def test_what_the_monitor_refuses_is_told_in_chinese(
    run: Run, words: tuple[str, ...], said: str
) -> None:
    text = run("silences", "create", "--rule", "*", *words, "--language", "zh", code=1)

    assert said in text
