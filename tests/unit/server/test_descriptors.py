"""Connections never use up the files that a process may open."""

from __future__ import annotations

import logging
import resource
import socket
import subprocess
import sys

import pytest

from rag_monitor.server import process
from rag_monitor.server.process import connections_within, raise_limit
from rag_monitor.server.protocol import MAX_CONNECTIONS, BoundedProtocol
from tests.unit.server.test_protocol import GET, serving, talk

_SCRIPT = """
import resource, sys
from rag_monitor.server.process import connections_within, raise_limit
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
files = raise_limit()
print(files, resource.getrlimit(resource.RLIMIT_NOFILE)[0], connections_within(files))
"""


@pytest.mark.parametrize(
    ("soft", "hard", "allowed"), [(256, 8_192, 8_192), (256, 512, 512), (64, 64, 64)]
)
def test_the_limit_goes_as_far_as_it_may_and_connections_stay_below(
    soft: int, hard: int, allowed: int
) -> None:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < hard:
        pytest.skip("the hard limit here is lower")
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(soft), str(hard)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    files, now, connections = map(int, done.stdout.split())
    assert (files, now) == (allowed, allowed)
    assert 0 < connections < files
    assert (connections == MAX_CONNECTIONS) is (allowed == 8_192)


@pytest.mark.parametrize(
    ("files", "connections"),
    [(8_192, MAX_CONNECTIONS), (2_156, MAX_CONNECTIONS), (1_024, 768), (256, 128), (64, 32)],
)
def test_fewer_files_are_fewer_connections_and_that_is_told(
    files: int, connections: int, caplog: pytest.LogCaptureFixture
) -> None:
    assert connections_within(files) == connections
    told = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(told) == (connections < MAX_CONNECTIONS)


def test_a_sandbox_that_forbids_more_is_told_and_taken_as_it_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def forbid(*_: object) -> None:
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(process.resource, "getrlimit", lambda _: (100, 9_000))
    monkeypatch.setattr(process.resource, "setrlimit", forbid)
    assert raise_limit() == 100
    assert "only 100 files" in caplog.text


async def test_a_bound_of_the_process_holds_against_a_crowd() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with serving(listener, BoundedProtocol.at_most(5)) as port:
            idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
            answer = await talk(port, GET + b"Connection: close\r\n\r\n")
            for one in idle:
                one.close()
    assert answer.startswith(b"HTTP/1.1 200")
