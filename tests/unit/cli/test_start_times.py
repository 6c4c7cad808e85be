"""Times in files of people: in their zone, and counted where they cannot be true."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from rag_monitor.cli.import_ import StartTimes, page_of
from rag_monitor.cli.replay import BadRow, Outcome, looked_at
from rag_monitor.testing import EPOCH
from tests.unit.cli.test_commands import FakeMonitor, monitor, run

__all__ = ["monitor"]


def _read(*times: Any, zone: str = "Asia/Shanghai") -> tuple[Outcome, list[Any]]:
    outcome = Outcome()
    rows = ((n, {"question": "q", "started_at": time}) for n, time in enumerate(times, 1))
    found = looked_at(rows, StartTimes(outcome, lambda: zone, lambda: EPOCH).look)
    return outcome, [item[1]["started_at"] for item in found if not isinstance(item, BadRow)]


def test_a_local_time_of_now_is_now() -> None:
    local = (EPOCH + timedelta(hours=8)).replace(tzinfo=None)

    outcome, (text, moment) = _read(local.isoformat(sep=" "), local)

    assert datetime.fromisoformat(text) == datetime.fromisoformat(moment) == EPOCH
    assert (outcome.timezone, outcome.times_without_zone) == ("Asia/Shanghai", 2)
    assert outcome.times_replaced.count == 0


def test_a_time_with_a_zone_is_left_as_it_is() -> None:
    given = [EPOCH.isoformat(), EPOCH.timestamp(), "yesterday", None, True, 1e300]

    outcome, found = _read(*given)

    assert found == given
    assert (outcome.timezone, outcome.times_without_zone) == (None, 0)


def test_a_row_without_an_id_keeps_the_one_of_its_content_in_utc() -> None:
    assert _read("2026-01-05 12:00:00", zone="UTC")[1] == ["2026-01-05 12:00:00"]


def test_times_that_cannot_be_true_are_counted_and_the_first_are_named() -> None:
    ahead = (EPOCH + timedelta(hours=2)).isoformat()

    outcome, _ = _read(EPOCH.isoformat(), ahead, "1970-01-01T00:00:00Z", *[ahead] * 20)

    assert outcome.times_replaced.count == 22
    assert str(outcome.times_replaced) == "2, 3, 4, 5, 6, 7, 8, 9, 10, 11 …"


@pytest.mark.parametrize(
    ("ago", "query"),
    [
        ((0, 23), {"app": ["faq"]}),
        ((24, 72), {"app": ["faq"], "from": ["2026-01-02T12:00Z"], "to": ["2026-01-04T12:01Z"]}),
        ((None, 72), {"app": ["faq"], "from": ["2026-01-02T12:00Z"]}),
        ((None,), {"app": ["faq"]}),
    ],
)
def test_the_page_that_is_named_shows_all_that_was_imported(
    ago: tuple[int | None, ...], query: dict[str, list[str]]
) -> None:
    times = StartTimes(Outcome(), lambda: "UTC", lambda: EPOCH)
    for number, hours in enumerate(ago, 1):
        time = None if hours is None else (EPOCH - timedelta(hours=hours)).isoformat()
        times.look(number, {"question": "q", "started_at": time})

    address = page_of("http://h", {"faq"}, times.ends)

    assert address.startswith("http://h/?")
    assert parse_qs(urlsplit(address).query) == query


@pytest.mark.parametrize("apps", [set(), {""}, {"faq", "desk"}])
def test_of_several_applications_the_page_shows_all(apps: set[str]) -> None:
    assert page_of("http://h", apps, None) == "http://h/"


@pytest.fixture
def traffic(tmp_path: Path, monitor: FakeMonitor, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of one local time and one far ahead, in a folder whose settings name a zone."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rag_monitor.toml").write_text('timezone = "Asia/Shanghai"\n')
    monitor.answers["POST", "/api/v1/traces"] = (200, {"accepted": 2})
    file = tmp_path / "traffic.csv"
    rows = "question,answer,started_at\nq,a,2026-01-05 12:00:00\nq,b,2999-01-01T00:00:00Z\n"
    file.write_text(rows)
    return file


def _sent(monitor: FakeMonitor) -> str:
    ((_, _, body),) = monitor.requests
    return str(body[0]["started_at"])


def test_import_takes_the_configured_zone_and_says_so(
    traffic: Path, monitor: FakeMonitor, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("import", str(traffic), "--url", monitor.url) == 0

    printed = capsys.readouterr()
    assert _sent(monitor) == "2026-01-05T12:00:00+08:00"
    assert printed.err.count("times without a zone are read as Asia/Shanghai") == 1
    assert "before 2000 or more than an hour ahead: 1;" in printed.err
    assert "row 2" in printed.err
    assert "times_replaced      1" in printed.out


def test_a_given_zone_wins_and_the_report_holds_what_was_done(
    traffic: Path, monitor: FakeMonitor, capsys: pytest.CaptureFixture[str]
) -> None:
    zone = ("--timezone", "Europe/Berlin", "--json")
    assert run("import", str(traffic), "--url", monitor.url, *zone) == 0

    report = json.loads(capsys.readouterr().out)
    assert _sent(monitor) == "2026-01-05T12:00:00+01:00"
    assert (report["timezone"], report["times_without_zone"]) == ("Europe/Berlin", 1)
    assert (report["times_replaced"], report["times_replaced_first"]) == (1, [2])


def test_settings_that_cannot_be_read_mean_utc_and_are_named(
    traffic: Path, monitor: FakeMonitor, capsys: pytest.CaptureFixture[str]
) -> None:
    (traffic.parent / "rag_monitor.toml").write_text("timezone = [\n")

    assert run("import", str(traffic), "--url", monitor.url, "--language", "zh") == 0

    said = capsys.readouterr().err
    assert _sent(monitor) == "2026-01-05 12:00:00"
    assert "未注明时区的时间按 UTC 读取（此处的配置无法读取：" in said
    assert "rag_monitor.toml 不是有效的 TOML" in said
    assert "第 2 行数据" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--timezone", "Shanghai"), "write it like Asia/Shanghai"),
        (("--timezone", "UTC", "--format", "langfuse"), "are in UTC"),
    ],
)
def test_a_zone_that_is_none_is_a_usage_error(
    traffic: Path, options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("import", str(traffic), *options) == 2
    assert said in capsys.readouterr().err
