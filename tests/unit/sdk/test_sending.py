"""Whatever the server does: delivered + dropped + waiting = produced, and nobody waits for it."""

from __future__ import annotations

import email.utils
import gzip
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

import rag_monitor as rm
from rag_monitor.errors import ConfigurationError
from rag_monitor.sdk import client as sdk_client
from rag_monitor.sdk import sender as sdk_sender
from rag_monitor.sdk.counters import Counters
from rag_monitor.sdk.queue import BoundedQueue
from rag_monitor.sdk.spool import Spool
from rag_monitor.sdk.transport import Transport
from tests.unit.sdk.conftest import BadServer

OK = (200, {}, b"")
MakeServer = Callable[..., BadServer]


def make(count: int, text: str = "answer") -> None:
    for _ in range(count):
        with rm.trace(question="q") as live:
            live.set(answer=text)


def spans_in(body: bytes) -> list[Any]:
    request = ExportTraceServiceRequest.FromString(body)
    return [s for r in request.resource_spans for c in r.scope_spans for s in c.spans]


def dropped() -> dict[str, int]:
    stats: Any = rm.stats()
    assert stats["produced"] == stats["delivered"] + stats["waiting"] + sum(
        stats["dropped"].values()
    )
    return dict(stats["dropped"])


class Sized:
    def __init__(self, chars: int) -> None:
        self.chars = chars


def test_a_full_queue_drops_the_oldest_and_counts_it() -> None:
    counters = Counters()
    queue: BoundedQueue[Sized] = BoundedQueue(2, 1000, counters)
    items = [Sized(1), Sized(2), Sized(3)]
    for item in items:
        queue.put(item)

    assert [queue.take(), queue.take(), queue.take()] == [items[1], items[2], None]
    assert counters.dropped == {"queue_full": 1}


def test_characters_bound_the_queue_too() -> None:
    counters = Counters()
    queue: BoundedQueue[Sized] = BoundedQueue(100, 1000, counters)
    for _ in range(5):
        queue.put(Sized(400))

    assert (len(queue), queue.chars, counters.dropped["queue_full"]) == (2, 800, 3)


def test_a_working_server_gets_everything_once_over_one_connection(
    bad_server: MakeServer,
) -> None:
    server = bad_server(lambda *_: OK)
    rm.configure(app="a", endpoint=server.url, api_key="k-1", environment="prod", release="r1")
    make(50)

    assert rm.flush(5)
    assert dropped() == {}
    bodies = [body for _, path, body, _ in server.requests if path == "/v1/traces"]
    assert len({s.trace_id for body in bodies for s in spans_in(body)}) == 50
    assert server.requests[0][3]["Authorization"] == "Bearer k-1"
    resource = ExportTraceServiceRequest.FromString(bodies[0]).resource_spans[0].resource
    values = {a.key: a.value.string_value for a in resource.attributes}
    assert values["service.name"] == "a"
    assert values["deployment.environment.name"] == "prod"
    assert values["service.version"] == "r1"


def _held_up(**options: Any) -> sdk_sender.Sender:
    """The sender of a recorder whose server is away, while it waits to try again."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    rm.configure(
        endpoint=f"http://127.0.0.1:{port}", max_queue_chars=8_000, interval_s=30.0, **options
    )
    recorder = sdk_client.active()
    assert recorder is not None
    sender = recorder._sender
    make(1, "x" * 2_000)  # more than an eighth of the queue: sent at once
    until = time.monotonic() + 5
    while not (sender._held and not sender._wake_event.is_set):
        assert time.monotonic() < until
        time.sleep(0.01)
    return sender


def _until_taken() -> None:
    """Wait until nothing waits in the queue."""
    until = time.monotonic() + 5
    while sdk_client.stats()["queued_chars"]:
        assert time.monotonic() < until
        time.sleep(0.005)


def test_with_the_server_away_new_traces_do_not_wake_the_sender() -> None:
    sender = _held_up()

    make(20, "x" * 2_000)
    assert not sender._wake_event.is_set
    assert dropped()["queue_full"] > 0


def test_with_the_server_away_a_spool_takes_what_waits_at_once(tmp_path: Path) -> None:
    _held_up(spool_dir=str(tmp_path))

    for _ in range(20):
        make(1, "x" * 2_000)
        _until_taken()
    assert "queue_full" not in dropped()


def test_a_mark_does_not_keep_traces_from_the_spool(tmp_path: Path) -> None:
    _held_up(spool_dir=str(tmp_path))

    rm.feedback("0" * 31 + "1", 1.0)
    for _ in range(20):
        make(1, "x" * 2_000)
        _until_taken()
    assert "queue_full" not in dropped()


def test_413_splits_the_batch_until_it_fits(bad_server: MakeServer) -> None:
    def small(_: BadServer, body: bytes) -> tuple[int, dict[str, str], bytes]:
        return OK if len(spans_in(body)) <= 3 else (413, {}, b"")

    server = bad_server(small)
    rm.configure(endpoint=server.url)
    make(10)

    assert rm.flush(5)
    assert dropped() == {}


def test_a_single_trace_that_is_too_large_is_dropped_and_counted(bad_server: MakeServer) -> None:
    server = bad_server(lambda *_: (413, {}, b""))
    rm.configure(endpoint=server.url)
    make(2)

    assert not rm.flush(5)
    assert dropped() == {"too_large": 2}


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_is_not_retried(
    bad_server: MakeServer, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    server = bad_server(lambda *_: (status, {}, b"no"))
    rm.configure(endpoint=server.url)
    make(3)

    assert not rm.flush(5)
    assert len(server.requests) == 1
    assert dropped() == {f"http_{status}": 3}
    make(1)
    assert not rm.flush(5)
    assert len([r for r in caplog.records if "refused" in r.message]) == 1


def test_partial_success_is_counted_and_not_sent_again(bad_server: MakeServer) -> None:
    reply = ExportTraceServiceResponse()
    reply.partial_success.rejected_spans = 2
    server = bad_server(lambda *_: (200, {}, reply.SerializeToString()))
    rm.configure(endpoint=server.url)
    make(5)

    assert not rm.flush(5)
    assert len(server.requests) == 1
    assert dropped() == {"rejected": 2}
    assert rm.stats()["delivered"] == 3


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_waited_for_even_by_flush(bad_server: MakeServer, status: int) -> None:
    def once(server: BadServer, _: bytes) -> tuple[int, dict[str, str], bytes]:
        return (status, {"Retry-After": "1"}, b"") if len(server.requests) == 1 else OK

    server = bad_server(once)
    rm.configure(endpoint=server.url)
    make(1)

    assert not rm.flush(0.2)
    assert not rm.flush(0.2)
    assert rm.flush(5)
    first, second = (moment for moment, *_ in server.requests)
    assert second - first >= 0.95


@pytest.mark.parametrize("value", ["-5", "soon", "", "Thu, 99 Foo 2020", "1e9999"])
def test_a_nonsense_retry_after_means_our_own_back_off(
    bad_server: MakeServer, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setattr(sdk_sender, "FIRST_BACKOFF_S", 0.01)

    def once(server: BadServer, _: bytes) -> tuple[int, dict[str, str], bytes]:
        return (503, {"Retry-After": value}, b"") if len(server.requests) == 1 else OK

    server = bad_server(once)
    rm.configure(endpoint=server.url)
    make(1)

    assert rm.flush(5)
    assert len(server.requests) == 2


def test_retry_after_may_be_a_date(bad_server: MakeServer) -> None:
    def once(server: BadServer, _: bytes) -> tuple[int, dict[str, str], bytes]:
        when = email.utils.formatdate(time.time() + 30, usegmt=True)
        return (503, {"Retry-After": when}, b"") if len(server.requests) == 1 else OK

    server = bad_server(once)
    rm.configure(endpoint=server.url)
    make(1)

    assert not rm.flush(0.3)
    assert len(server.requests) == 1


def test_flush_has_a_deadline_and_tells_the_truth_when_the_server_hangs(
    bad_server: MakeServer,
) -> None:
    def hang(server: BadServer, _: bytes) -> tuple[int, dict[str, str], bytes]:
        server.released.wait(20)
        return OK

    server = bad_server(hang)
    rm.configure(endpoint=server.url, timeout_s=0.5)
    make(1)

    start = time.monotonic()
    assert not rm.flush(0.2)
    assert time.monotonic() - start < 10  # it hangs for 20
    assert dropped() == {}
    assert rm.stats()["waiting"] == 1
    server.released.set()
    server.behave = lambda *_: OK
    assert rm.flush(10)


def test_a_dripping_server_is_cut_off_at_the_deadline() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    accepted = []

    def drip() -> None:
        connection, _ = listener.accept()
        accepted.append(connection)
        for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 1000:
            try:
                connection.sendall(bytes([byte]))
            except OSError:
                break
            time.sleep(0.02)
        connection.close()

    thread = threading.Thread(target=drip)
    thread.start()
    transport = Transport(f"http://127.0.0.1:{listener.getsockname()[1]}", {}, timeout_s=0.3)
    start = time.monotonic()
    outcome = transport.post("/v1/traces", b"x", "application/x-protobuf")
    assert outcome.status == 0
    assert time.monotonic() - start < 10  # all of it takes 20
    thread.join()
    listener.close()


def test_a_server_that_is_down_costs_nothing_but_old_traces() -> None:
    rm.configure(endpoint="http://127.0.0.1:9", max_queue=10)
    make(600)

    assert not rm.flush(0.3)
    counts = dropped()
    assert set(counts) <= {"queue_full"}
    assert rm.stats()["delivered"] == 0


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (
            b'{"detail": "`metric`: there is no metric \'x\'.\\n\\ud800"}',
            "there is no metric 'x'.  ",
        ),
        (b'{"detail": 7}', "HTTP 422; see rag_monitor.stats()"),
        (b"[" * 100_000, "HTTP 422; see rag_monitor.stats()"),
    ],
)
def test_a_refused_mark_is_counted_and_the_reason_logged_and_the_host_goes_on(
    bad_server: MakeServer, caplog: pytest.LogCaptureFixture, reply: bytes, said: str
) -> None:
    server = bad_server(lambda *_: (422, {}, reply))
    rm.configure(endpoint=server.url)

    rm.feedback("a" * 32, 0.0, metric="x")

    assert not rm.flush(5)
    assert dropped() == {"http_422": 1}
    (line,) = [record.getMessage() for record in caplog.records if "refused" in record.message]
    assert line.startswith("the monitor refused a mark: HTTP 422")
    assert line.endswith(said)


def test_the_warning_names_what_keeps_the_server_from_answering(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rm.configure(app="t", endpoint="http://127.0.0.1:1", strict=True)
    make(1)

    rm.flush(0.5)

    (line,) = [r.getMessage() for r in caplog.records if "cannot reach" in r.message]
    assert "(ConnectionRefusedError)" in line


def test_drops_are_reported_to_the_server(bad_server: MakeServer) -> None:
    server = bad_server(lambda server, _: (400, {}, b"") if len(server.requests) == 1 else OK)
    rm.configure(endpoint=server.url)
    make(2)
    rm.flush(5)
    make(1)

    assert rm.flush(5)
    attributes = ExportTraceServiceRequest.FromString(server.requests[-1][2]).resource_spans[0]
    values = {a.key: a.value.string_value for a in attributes.resource.attributes}
    assert values["rag_monitor.dropped"] == '{"http_400": 2}'
    make(1)
    assert rm.flush(5)
    attributes = ExportTraceServiceRequest.FromString(server.requests[-1][2]).resource_spans[0]
    assert "rag_monitor.dropped" not in {a.key for a in attributes.resource.attributes}


def test_gzip_bodies_are_gzip(bad_server: MakeServer) -> None:
    server = bad_server(lambda *_: OK)
    rm.configure(endpoint=server.url, compression="gzip")
    make(1)

    assert rm.flush(5)
    _, _, body, headers = server.requests[0]
    assert headers["Content-Encoding"] == "gzip"
    assert len(spans_in(gzip.decompress(body))) == 1


def test_many_threads_lose_nothing(bad_server: MakeServer) -> None:
    server = bad_server(lambda *_: OK)
    rm.configure(endpoint=server.url, max_batch_bytes=5000)
    threads = [threading.Thread(target=make, args=(50,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert rm.flush(10)
    assert rm.stats()["delivered"] == 200


def test_wrong_settings_warn_and_switch_off(caplog: pytest.LogCaptureFixture) -> None:
    rm.configure(endpoint="nonsense", app="x")

    make(1)
    assert rm.stats() == {}
    assert "endpoint must be" in caplog.text


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"endpoint": "ftp://x"}, "endpoint"),
        ({"max_queue": 0}, "max_queue"),
        ({"redact": "hash"}, "redaction_key"),
        ({"no_such": 1}, "unknown setting no_such"),
        ({"compression": "zip"}, "gzip"),
    ],
)
def test_strict_settings_raise_with_the_way_to_mend(settings: dict[str, Any], hint: str) -> None:
    with pytest.raises(ConfigurationError, match=hint):
        rm.configure(strict=True, **settings)


def test_the_environment_configures(
    bad_server: MakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = bad_server(lambda *_: OK)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.url)
    monkeypatch.setenv("OTEL_SERVICE_NAME", "from-env")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=a%20b")
    monkeypatch.setattr(sdk_client, "_active", None)
    monkeypatch.setattr(sdk_client, "_disabled", False)
    make(1)

    assert rm.flush(5)
    assert b"from-env" in server.requests[0][2]
    assert server.requests[0][3]["x-team"] == "a b"


def test_the_spool_survives_a_process_that_never_delivered(
    bad_server: MakeServer, tmp_path: Path
) -> None:
    rm.configure(endpoint="http://127.0.0.1:9", spool_dir=str(tmp_path))
    make(3)
    assert not rm.flush(0.3)
    rm.shutdown(0.1)
    assert list(tmp_path.rglob("*.spans"))

    server = bad_server(lambda *_: OK)
    rm.configure(endpoint=server.url, spool_dir=str(tmp_path), interval_s=0.05)
    make(1)
    assert rm.flush(5)
    received = {s.trace_id for _, _, body, _ in server.requests for s in spans_in(body)}
    assert len(received) == 4
    assert not list(tmp_path.rglob("*.spans"))
    assert dropped() == {}


def test_a_damaged_spool_file_is_skipped(bad_server: MakeServer, tmp_path: Path) -> None:
    rm.configure(endpoint="http://127.0.0.1:9", spool_dir=str(tmp_path))
    make(1)
    rm.flush(0.3)
    rm.shutdown(0.1)
    (file,) = tmp_path.rglob("*.spans")
    file.write_bytes(file.read_bytes()[:-3])

    server = bad_server(lambda *_: OK)
    rm.configure(endpoint=server.url, spool_dir=str(tmp_path))
    make(1)
    assert rm.flush(5)
    assert sum(len(spans_in(body)) for _, _, body, _ in server.requests) == 1


def test_with_a_spool_an_outage_longer_than_the_queue_loses_nothing(
    bad_server: MakeServer, tmp_path: Path
) -> None:
    away = [True]
    server = bad_server(lambda *_: (503, {"Retry-After": "1"}, b"") if away[0] else OK)
    rm.configure(endpoint=server.url, spool_dir=str(tmp_path), max_queue=300, interval_s=0.02)
    for _ in range(10):
        make(100)
        deadline = time.monotonic() + 60
        while rm.stats()["queued_chars"]:
            assert time.monotonic() < deadline, "the queue is not moved to the disk"
            time.sleep(0.01)
    away[0] = False

    assert rm.flush(60)
    assert dropped() == {}
    assert rm.stats()["delivered"] == 1000
    assert not list(tmp_path.rglob("*.spans"))


def test_a_batch_of_our_own_that_was_damaged_on_disk_is_put_aside(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path), 10_000, Counters())
    file = spool.save([[b"span"]])
    assert file is not None
    Path(file).write_bytes(b"x" * 20)

    assert spool.read(file) == []
    assert [path.suffix for path in Path(file).parent.glob("0*")] == [".damaged"]
    spool.close()
