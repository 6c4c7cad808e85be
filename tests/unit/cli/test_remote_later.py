"""Commands that read wait where the monitor answers "later"; those that change something do not."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from rag_monitor.cli.remote import Remote
from rag_monitor.errors import NotFound, RagMonitorError
from rag_monitor.i18n import Message, translate
from rag_monitor.outbound.connection import Reply
from tests.unit.cli.monitors import Request, answer, transport

URL = "http://127.0.0.1:8700"


class Sometimes:
    """Gives each request the next answer, then for ever the last of them."""

    def __init__(self, *answers: Reply) -> None:
        self.seen = 0
        self._answers = answers

    def __call__(self, _: Request) -> Reply:
        self.seen += 1
        return self._answers[min(self.seen, len(self._answers)) - 1]


def later(status: int, wish: str | None = None) -> Reply:
    headers = {} if wish is None else {"retry_after": wish}
    return answer(status, {"detail": "Not now."}, **headers)


def reading(answers: Iterable[Reply]) -> tuple[Remote, Sometimes, list[float]]:
    waits: list[float] = []
    monitor = Sometimes(*answers)
    return Remote(URL, transport=transport(monitor), pause=waits.append), monitor, waits


@pytest.mark.parametrize("status", [429, 503])
def test_reading_waits_as_it_is_asked_to(status: int, capsys: pytest.CaptureFixture[str]) -> None:
    good = answer(200, {"items": [1]})
    remote, monitor, waits = reading([later(status, "5"), later(status, "7"), good])

    assert remote.get("/api/v1/traces") == {"items": [1]}

    assert monitor.seen == 3
    assert 5 <= waits[0] <= 7
    assert 7 <= waits[1] <= 9
    assert capsys.readouterr().err.splitlines() == [
        f"rag-monitor: waiting for {URL}, up to 60 s: it answers {status}"
    ]


def test_a_short_wait_is_not_worth_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    remote, _, waits = reading([later(429, "1"), answer(200, {})])

    remote.get("/api/v1/rules")

    assert len(waits) == 1
    assert capsys.readouterr().err == ""


def test_patience_ends_with_what_was_tried() -> None:
    remote, monitor, waits = reading([later(503, "20")])

    with pytest.raises(RagMonitorError) as caught:
        remote.get("/api/v1/traces")

    assert monitor.seen == 3
    assert sum(waits) <= 60
    text = str(caught.value)
    assert text.startswith("the monitor answered 503: Not now.; asked 3 times in 4")
    assert text.endswith("it asks to wait 20 s more")
    assert translate(text, "zh").startswith("监控服务答复 503：Not now.；4")


def test_other_answers_are_final() -> None:
    remote, monitor, waits = reading([answer(404, {"detail": "gone"})])

    with pytest.raises(NotFound):
        remote.get("/api/v1/traces/x")

    assert (monitor.seen, waits) == (1, [])


def test_what_changes_something_is_sent_once() -> None:
    remote, monitor, waits = reading([later(503, "1")])

    with pytest.raises(RagMonitorError, match="503"):
        remote.call("POST", "/api/v1/silences", {})

    assert (monitor.seen, waits) == (1, [])


def test_waiting_is_told_in_chinese() -> None:
    assert translate(Message("it answers {status}", status=503), "zh") == "它答复 503"
