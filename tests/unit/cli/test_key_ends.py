"""The end of a key, as the command line takes and shows it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.unit.cli.test_commands import FakeMonitor, monitor, run

__all__ = ["monitor"]

MADE = {"key": {"id": "k1", "name": "ci", "scopes": ["ingest"]}, "secret": "rm_abc"}


@pytest.mark.parametrize(
    ("written", "length"),
    [("12h", timedelta(hours=12)), ("90d", timedelta(days=90)), ("52w", timedelta(weeks=52))],
)
def test_a_key_ends_after_a_length_of_time(
    monitor: FakeMonitor, written: str, length: timedelta
) -> None:
    monitor.answers["POST", "/api/v1/keys"] = (201, MADE)
    before = datetime.now(UTC)

    assert run("keys", "create", "ci", "--expires", written, "--url", monitor.url) == 0

    ends = datetime.fromisoformat(monitor.requests[-1][2]["expires_at"])
    assert before + length <= ends <= datetime.now(UTC) + length


def test_a_key_ends_at_a_moment_and_the_answer_says_when(
    monitor: FakeMonitor, capsys: pytest.CaptureFixture[str]
) -> None:
    key = MADE["key"] | {"expires_at": "2099-01-31T04:00:00Z"}  # type: ignore[operator]
    monitor.answers["POST", "/api/v1/keys/k0/rotate"] = (201, MADE | {"key": key})
    moment = "2099-01-31T12:00:00+08:00"

    assert run("keys", "rotate", "k0", "--expires", moment, "--url", monitor.url) == 0

    assert monitor.requests[-1][2] == {"grace_s": 0.0, "expires_at": moment}
    assert "2099-01-31 04:00 UTC" in capsys.readouterr().out


@pytest.mark.parametrize("written", ["soon", "0d", "2099-01-31", "2099-01-31T12:00:00", "999999w"])
def test_an_end_that_is_none_is_refused_before_anything_is_asked(
    monitor: FakeMonitor, capsys: pytest.CaptureFixture[str], written: str
) -> None:
    asked = ("keys", "create", "ci", "--expires", written, "--url", monitor.url)

    assert run(*asked) == 2
    english = capsys.readouterr().err
    assert run(*asked, "--language", "zh") == 2
    chinese = capsys.readouterr().err

    assert f"--expires '{written}': write a length such as 12h, 90d or 52w" in english
    assert f"--expires '{written}'：请写时长" in chinese
    assert monitor.requests == []


def test_a_list_tells_keys_that_expired_from_keys_that_will(
    monitor: FakeMonitor, capsys: pytest.CaptureFixture[str]
) -> None:
    key = {"scopes": ["read"], "last_used_at": None, "revoked_at": None}
    ends = ["2001-01-31T04:00:00Z", "2099-01-31T04:00:00Z"]
    keys = [key | {"id": end[:4], "name": "n", "expires_at": end} for end in ends]
    monitor.answers["GET", "/api/v1/keys"] = (200, {"keys": keys})

    assert run("keys", "list", "--url", monitor.url) == 0
    assert run("keys", "list", "--url", monitor.url, "--language", "zh") == 0

    assert capsys.readouterr().out.splitlines() == [
        "2001  n  read  never used  expired 2001-01-31 04:00 UTC",
        "2099  n  read  never used  expires 2099-01-31 04:00 UTC",
        "2001  n  read  从未使用  已于 2001-01-31 04:00 UTC 过期",
        "2099  n  read  从未使用  2099-01-31 04:00 UTC 到期",
    ]


@pytest.mark.parametrize(
    ("words", "method", "path"),
    [
        (["list"], "GET", "/api/v1/keys"),
        (["rotate", "k0"], "POST", "/api/v1/keys/k0/rotate"),
        (["revoke", "k0"], "DELETE", "/api/v1/keys/k0"),
    ],
)
def test_the_operator_looks_after_the_keys_of_other_projects(
    monitor: FakeMonitor, words: list[str], method: str, path: str
) -> None:
    monitor.answers[method, path] = (200, MADE | {"keys": []})

    assert run("keys", *words, "--project", "team-b", "--url", monitor.url) == 0

    assert monitor.requests[-1][:2] == (method, f"{path}?project=team-b")
