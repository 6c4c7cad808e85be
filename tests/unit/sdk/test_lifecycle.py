"""Import, fork, exit: the process around the SDK."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

import rag_monitor as rm
from tests.unit.sdk.conftest import BadServer

ROOT = Path(__file__).resolve().parents[3]
OK = (200, {}, b"")
FORBIDDEN = ("fastapi", "sqlalchemy", "numpy", "pydantic", "prometheus_client", "requests")


def python(code: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def traces_at(server: BadServer) -> list[str]:
    return [
        span.trace_id.hex()
        for _, path, body, _ in server.requests
        if path == "/v1/traces"
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def test_importing_loads_no_server_library() -> None:
    code = "import rag_monitor, sys, json; print(json.dumps(sorted(sys.modules)))"
    out, err = python(code).communicate(timeout=20)
    loaded = {name.partition(".")[0] for name in json.loads(out)}
    assert not loaded & set(FORBIDDEN), err


def test_without_posix_file_locks_only_the_spool_is_missing(
    bad_server: Callable[..., BadServer], tmp_path: Path
) -> None:
    """As on Windows, where there is no `fcntl`."""
    server = bad_server(lambda *_: OK)
    code = (
        "import sys; sys.modules['fcntl'] = None\n"
        "import rag_monitor as rm\n"
        f"rm.configure(endpoint={server.url!r}, spool_dir={str(tmp_path)!r})\n"
        "@rm.trace\ndef answer(question): return 'yes'\n"
        "answer('q')"
    )
    _, err = python(code).communicate(timeout=20)

    assert len(traces_at(server)) == 1
    assert "spool_dir needs POSIX file locks" in err


def test_traces_of_the_last_moment_are_flushed_at_exit(
    bad_server: Callable[..., BadServer],
) -> None:
    server = bad_server(lambda *_: OK)
    code = "import rag_monitor as rm\nfor _ in range(20):\n    with rm.trace(question='q'): pass"
    _, err = python(code, RAG_MONITOR_ENDPOINT=server.url).communicate(timeout=20)

    assert err == ""
    assert len(set(traces_at(server))) == 20


def test_a_hanging_server_holds_the_exit_only_for_the_bound(
    bad_server: Callable[..., BadServer],
) -> None:
    def hang(server: BadServer, _: bytes) -> tuple[int, dict[str, str], bytes]:
        server.released.wait(30)
        return OK

    server = bad_server(hang)
    code = (
        "import rag_monitor as rm\n"
        f"rm.configure(endpoint={server.url!r}, exit_timeout_s=1.0)\n"
        "with rm.trace(question='q'): pass"
    )
    process = python(code)
    _, err = process.communicate(timeout=10)
    assert (process.returncode, err) == (0, "")


@pytest.mark.parametrize("ending", ["", "\nrm.shutdown(60)"])
def test_a_refused_connection_hardly_holds_the_exit(ending: str) -> None:
    code = (
        "import rag_monitor as rm\n"
        "rm.configure(endpoint='http://127.0.0.1:9', exit_timeout_s=60)\n"
        f"with rm.trace(question='q'): pass{ending}"
    )

    out, err = python(code).communicate(timeout=40)  # with the whole time, 60 s

    assert (out, err.count("Traceback")) == ("", 0)


def test_a_busy_monitor_has_the_whole_time_at_exit(
    bad_server: Callable[..., BadServer],
) -> None:
    replies = iter([(503, {}, b""), (503, {}, b"")])
    server = bad_server(lambda *_: next(replies, OK))
    code = (
        "import rag_monitor as rm\n"
        f"rm.configure(endpoint={server.url!r}, exit_timeout_s=20)\n"
        "with rm.trace(question='q'): pass"
    )
    process = python(code)
    process.communicate(timeout=40)

    assert len(server.requests) == 3


def test_sigterm_is_left_to_the_host(bad_server: Callable[..., BadServer]) -> None:
    server = bad_server(lambda *_: OK)
    code = (
        "import rag_monitor as rm, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
        "with rm.trace(question='q'): pass\n"
        "print('ready', flush=True)\n"
        "time.sleep(20)"
    )
    process = python(code, RAG_MONITOR_ENDPOINT=server.url)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)

    assert process.returncode == 7
    assert len(traces_at(server)) == 1


FORK = """
import ctypes, os, sys, threading
import rag_monitor as rm
rm.configure(endpoint={url!r}, interval_s=60)
with rm.trace(question='parent'): pass
rm.flush(5) if {flushed} else None
client = rm.sdk.client.active()
held = threading.Event()
def hold():
    with client._queue._lock, client.counters.changed:
        held.set()
        threading.Event().wait({hold})
if {hold}:
    threading.Thread(target=hold, daemon=True).start()
    held.wait()
pid = {fork}()
if pid == 0:
    with rm.trace(question='child'): pass
    os._exit(0 if rm.flush(5) else 1)
_, status = os.waitpid(pid, 0)
ok = rm.flush(5)
sys.exit(0 if ok and os.waitstatus_to_exitcode(status) == 0 else 2)
"""


LOADS = """
import os, sys, threading
import rag_monitor as rm

class Watch:
    def __init__(self):
        self.loaded = {{}}
        self.begun = threading.Event()
    def find_spec(self, name, path, target=None):
        self.loaded[name] = threading.current_thread().name
        if name == 'rag_monitor.sdk.transport':
            self.begun.set()
            threading.Event().wait({slow})
        return None

watch = Watch()
sys.meta_path.insert(0, watch)
with rm.trace(question='parent'): pass
"""
IN_THE_BACKGROUND = (
    LOADS
    + """
assert rm.flush(15)
print(watch.loaded['rag_monitor.sdk.transport'], watch.loaded['ssl'])
"""
)
FORKED_WHILE_LOADING = (
    LOADS
    + """
rm.sdk.client.active()._sender.wake()
watch.begun.wait()
pid = os.fork()
if pid == 0:
    with rm.trace(question='child'): pass
    os._exit(0 if rm.flush(10) else 1)
_, status = os.waitpid(pid, 0)
sys.exit(0 if rm.flush(10) and os.waitstatus_to_exitcode(status) == 0 else 2)
"""
)


def test_the_first_trace_without_configure_leaves_loading_to_the_sender(
    bad_server: Callable[..., BadServer],
) -> None:
    server = bad_server(lambda *_: OK)
    process = python(IN_THE_BACKGROUND.format(slow=0), RAG_MONITOR_ENDPOINT=server.url)
    out, err = process.communicate(timeout=30)

    assert out.split() == ["rag-monitor-sender"] * 2, err
    assert len(traces_at(server)) == 1


def test_a_child_forked_while_the_sender_loads_can_send(
    bad_server: Callable[..., BadServer],
) -> None:
    server = bad_server(lambda *_: OK)
    process = python(FORKED_WHILE_LOADING.format(slow=0.3), RAG_MONITOR_ENDPOINT=server.url)
    _, err = process.communicate(timeout=40)

    assert process.returncode == 0, err
    assert len(set(traces_at(server))) == 2


def test_the_sender_imports_nothing_once_its_tools_are_loaded(
    bad_server: Callable[..., BadServer],
) -> None:
    """A fork in the midst of an import would leave the child without that module for ever."""
    server = bad_server(lambda *_: OK)
    code = (
        "import rag_monitor as rm, sys\n"
        f"rm.configure(endpoint={server.url!r})\n"
        "before = set(sys.modules)\n"
        "with rm.trace(question='q'), rm.retrieval('kb') as found: found.documents = ['p']\n"
        "rm.feedback(32 * '0', 1.0)\n"
        "assert rm.flush(15)\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    out, err = python(code).communicate(timeout=30)

    assert (out.split(), err) == ([], "")


@pytest.mark.parametrize("hold", [0, 0.5])
def test_a_forked_child_sends_its_own_and_the_parent_its_own(
    bad_server: Callable[..., BadServer], hold: float
) -> None:
    server = bad_server(lambda *_: OK)
    process = python(FORK.format(url=server.url, hold=hold, fork="os.fork", flushed=False))
    _, err = process.communicate(timeout=20)

    assert process.returncode == 0, err
    assert len(traces_at(server)) == len(set(traces_at(server))) == 2


def test_a_child_forked_by_c_code_sends_its_own(
    bad_server: Callable[..., BadServer],
) -> None:
    server = bad_server(lambda *_: OK)
    fork = "ctypes.PyDLL(None).fork"  # runs none of `os.register_at_fork`
    process = python(FORK.format(url=server.url, hold=0, fork=fork, flushed=True))
    _, err = process.communicate(timeout=20)

    assert process.returncode == 0, err
    assert len(traces_at(server)) == len(set(traces_at(server))) == 2


def test_a_machine_without_threads_keeps_the_application_running(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_: Any) -> None:
        raise RuntimeError("can't start new thread")

    rm.configure(endpoint="http://127.0.0.1:9")
    monkeypatch.setattr(threading.Thread, "start", refuse)
    for _ in range(5):
        with rm.trace(question="q"):
            pass

    assert rm.stats()["waiting"] == 5
    assert len([r for r in caplog.records if "cannot start" in r.message]) == 1


def test_shutdown_drops_what_comes_later_and_counts_it(
    bad_server: Callable[..., BadServer],
) -> None:
    server = bad_server(lambda *_: OK)
    rm.configure(endpoint=server.url)
    with rm.trace(question="q"):
        pass
    assert rm.shutdown(5)
    with rm.trace(question="late"):
        pass

    stats: Any = rm.stats()
    assert (stats["produced"], stats["delivered"], stats["dropped"]) == (2, 1, {"exit": 1})
    assert not stats["sender_alive"]
