"""The client against a real server on a real socket."""

from __future__ import annotations

import math
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import httpx
import pytest
import uvicorn

from rag_monitor.client import Client, ClientError
from rag_monitor.server.app import create_app
from rag_monitor.server.services import Services
from tests.unit.server.fakes import make_services
from tests.unit.server.unfinished_search import unfinished


def serve(services: Services) -> Iterator[str]:
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(create_app(services), log_level="error", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()


@pytest.fixture
def services() -> Services:
    return make_services()


@pytest.fixture
def url(services: Services) -> Iterator[str]:
    yield from serve(services)


@pytest.fixture
def locked_url() -> Iterator[str]:
    yield from serve(make_services(api_key="master-key"))


def test_shares_of_faults_come_app_by_app_or_as_a_frame(url: str) -> None:
    pandas = pytest.importorskip("pandas")
    with Client(url) as monitor:
        told = monitor.faults(app="loan-assistant", window="6h", knowledge_base="loans")
        frame = monitor.faults(window="6h", release="v42", as_frame="pandas")
        with pytest.raises(ClientError, match="loan-assistant"):
            monitor.faults(app="loan-asistant")

    (app,) = told["apps"]
    assert {one["knowledge_base"] for one in app["faults"]} == {"loans"}
    assert isinstance(frame, pandas.DataFrame)
    assert set(frame["release"]) == {"v42"}
    invented = frame[frame["fault"] == "invented"]
    assert list(invented["value"]) == [0.09] * len(set(frame["app"]))


def test_shares_of_many_apps_are_fetched_to_the_last_page(url: str) -> None:
    asked: list[str] = []

    with Client(url) as monitor:
        network = monitor._transport

        def small_pages(method, path, body, headers, timeout_s):  # type: ignore[no-untyped-def]
            asked.append(path)
            return network(
                method, path + ("&" if "?" in path else "?") + "limit=1", body, headers, timeout_s
            )

        monitor._transport = small_pages
        told = monitor.faults(window="6h", release="v42")
        every = [summary["app"] for summary in monitor.summary(window="6h")["apps"]]

    assert [app["app"] for app in told["apps"]] != []
    assert sorted(app["app"] for app in told["apps"]) == sorted(every)
    assert all("release=v42" in path for path in asked if path.startswith("/api/v1/faults"))


def test_a_person_says_what_was_at_fault(url: str, services: Services) -> None:
    with Client(url) as monitor:
        trace_id = monitor.traces(limit=1)[0]["trace_id"]
        told = monitor.feedback(trace_id, fault="bad_ranking", author="amy")
        with pytest.raises(ClientError, match="fault"):
            monitor.feedback(trace_id, 0.0, fault="bad_ranking")

    assert (told["fault"], told["value"]) == ("bad_ranking", 0.0)
    assert len(services.feedback.marks) == 1  # type: ignore[attr-defined]


def test_traces_come_as_dicts_across_pages(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_monitor.client.requests.PAGE", 25)
    with Client(url) as monitor:
        every = monitor.traces(limit=None)
        some = monitor.traces(limit=30)
        detail = monitor.trace(every[0]["trace_id"])

    assert len(every) == 60
    assert some == every[:30]
    assert len({row["trace_id"] for row in every}) == 60
    assert detail["contexts"][0]["id"] == "doc-1"


def test_a_search_that_found_nothing_so_far_goes_on() -> None:
    for address in serve(unfinished(make_services())):
        with Client(address) as monitor:
            found = monitor.traces(q="warranty", q_in="passages", limit=5)

    assert len(found) == 5


def test_traces_come_as_a_pandas_frame(url: str) -> None:
    pd = pytest.importorskip("pandas")

    frame = Client(url).traces(app="support-bot", as_frame="pandas")

    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == 30
    assert frame["score.faithfulness"].between(0, 1).all()
    assert frame["started_at"].dt.tz is not None


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_scores_come_one_a_row_with_their_judge_and_status(url: str, kind: str) -> None:
    library = pytest.importorskip(kind)

    frame = Client(url).scores(app="support-bot", limit=4, as_frame=kind)

    assert isinstance(frame, library.DataFrame)
    rows = frame.to_dict("records") if kind == "pandas" else frame.to_dicts()
    assert len({row["trace_id"] for row in rows}) == 4
    assert {row["status"] for row in rows} <= {"scored", "not_applicable", "failed", "suspect"}
    for row in rows:
        detail = Client(url).trace(row["trace_id"])
        (score,) = [s for s in detail["scores"] if s["metric"] == row["metric"]]
        value = None if row["value"] is None or math.isnan(row["value"]) else row["value"]
        assert value == score["value"]
        assert (row["app"], row["judge"]) == ("support-bot", score["judge"])
        assert row["started_at"].tzinfo is not None


def test_a_polars_frame_of_traces_has_real_times(url: str) -> None:
    pl = pytest.importorskip("polars")

    frame = Client(url).traces(as_frame="polars")

    assert frame.schema["started_at"] == pl.Datetime("us", "UTC")
    assert frame.schema["score.faithfulness"] == pl.Float64


def test_a_store_without_traces_gives_empty_frames(url: str) -> None:
    pytest.importorskip("pandas")

    assert len(Client(url).traces(app="nobody", as_frame="pandas")) == 0
    assert len(Client(url).scores(app="nobody", as_frame="pandas")) == 0


def test_frames_hold_the_summary_and_the_series(url: str) -> None:
    pytest.importorskip("pandas")
    monitor = Client(url)

    summary = monitor.summary(window="24h", as_frame="pandas")
    series = monitor.series("support-bot", "faithfulness", step="1h", as_frame="pandas")

    assert set(summary["app"]) == {"loan-assistant", "support-bot"}
    assert len(series) == 24


def test_a_mark_is_sent(url: str, services: Services) -> None:
    monitor = Client(url)
    trace_id = monitor.traces(limit=1)[0]["trace_id"]

    monitor.feedback(trace_id, 0.0, metric="faithfulness", comment="编造")

    assert services.feedback.marks[0].comment == "编造"


def test_a_name_that_no_trace_has_is_warned_of(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with Client(url) as monitor:
        assert monitor.traces(app="loan-asistant") == []

    (record,) = [one for one in caplog.records if one.name == "rag_monitor.client"]
    assert "Did you mean 'loan-assistant'?" in record.getMessage()


def test_a_refusal_says_why(url: str) -> None:
    monitor = Client(url)

    with pytest.raises(ClientError, match="Did you mean 'faithfulness'"):
        monitor.feedback("b" * 32, 0.0, metric="faithfullness")

    with pytest.raises(ClientError, match="trace_id") as wrong:
        monitor.trace("not-an-id")
    with pytest.raises(ClientError, match="no trace") as unknown:
        monitor.trace("b" * 32)

    assert (wrong.value.status, unknown.value.status) == (422, 404)


def test_a_key_is_needed_and_taken(locked_url: str) -> None:
    with pytest.raises(ClientError, match="needs a key"):
        Client(locked_url).traces()

    assert len(Client(locked_url, "master-key").traces(limit=5)) == 5


def test_a_server_that_is_not_there_is_said_to_be_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    with pytest.raises(ClientError, match="rag-monitor serve") as missing:
        Client(f"http://127.0.0.1:{port}", timeout_s=2).traces()

    assert missing.value.status is None


@pytest.mark.parametrize("url", ["127.0.0.1:8700", "file:///etc/passwd"])
def test_only_http_addresses_are_taken(url: str) -> None:
    with pytest.raises(ClientError, match="http://"):
        Client(url)


def test_a_time_without_a_zone_is_refused(url: str) -> None:
    with pytest.raises(ClientError, match="time zone"):
        Client(url).traces(since=datetime(2026, 1, 1))  # noqa: DTZ001 - the point of the test

    assert Client(url).traces(since=datetime(2026, 1, 1, tzinfo=UTC), limit=1)


def test_head_answers_like_get_without_a_body(url: str) -> None:
    answer = httpx.head(f"{url}/healthz")

    assert (answer.status_code, answer.content) == (200, b"")


def test_incidents_come_with_their_story(url: str) -> None:
    pd = pytest.importorskip("pandas")
    with Client(url) as monitor:
        (going_on,) = monitor.incidents(state="open")
        frame = monitor.incidents(as_frame="pandas")
        one = monitor.incident(going_on["id"])
        with pytest.raises(ClientError) as caught:
            monitor.incident("in-9")

    assert one == going_on
    assert one["story"]["faults"][0]["fault"] == "invented"
    assert isinstance(frame, pd.DataFrame)
    assert list(frame["app"]) == ["loan-assistant", "support-bot"]
    assert caught.value.status == 404


def test_incidents_are_told_in_the_language_of_the_client(url: str) -> None:
    with Client(url, language="zh") as monitor:
        assert any("下一步" in sentence for sentence in monitor.incident("in-1")["sentences"])
