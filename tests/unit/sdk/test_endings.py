"""Ends of a process that `atexit` never sees."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.otlp_sink import _records
from tests.unit.sdk.conftest import BadServer

ROOT = Path(__file__).resolve().parents[3]
OK = (200, {}, b"")
MakeServer = Callable[..., BadServer]

CHILD = """
import sys
{before}
import rag_monitor as rm
rm.configure(endpoint={url!r}, interval_s=60, exit_timeout_s={bound}, spool_dir={spool!r})

@rm.trace
def answer(question):
    return 'yes'

def fails(question):
    answer(question)
    raise SystemExit(3)

if __name__ == '__main__':
    import multiprocessing as mp
    from concurrent.futures import ProcessPoolExecutor
    context = mp.get_context({method!r})
{work}
"""
PROCESS = """
    for function in (answer, fails):
        child = context.Process(target=function, args=(function.__name__,))
        child.start(); child.join()
"""
POOL = """
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        list(pool.map(answer, ['answer', 'fails']))
"""


def run(
    folder: Path,
    url: str,
    method: str,
    work: str,
    before: str = "",
    spool: Path | None = None,
    bound: float = 5.0,
) -> None:
    file = folder / "children.py"
    given = None if spool is None else str(spool)
    file.write_text(
        CHILD.format(url=url, method=method, work=work, before=before, spool=given, bound=bound)
    )
    subprocess.run(
        [sys.executable, file], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, timeout=60
    )


def questions(server: BadServer) -> list[str]:
    bodies = [body for _, path, body, _ in server.requests if path == "/v1/traces"]
    return sorted(record["question"] for body in bodies for record in _records(body))


@pytest.mark.parametrize("before", ["", "import multiprocessing.util"])
@pytest.mark.parametrize("work", [PROCESS, POOL])
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_a_child_of_multiprocessing_sends_its_last_traces(
    bad_server: MakeServer, tmp_path: Path, method: str, work: str, before: str
) -> None:
    server = bad_server(lambda *_: OK)
    run(tmp_path, server.url, method, work, before)

    assert questions(server) == ["answer", "fails"]


def test_a_child_leaves_to_the_spool_what_does_not_arrive(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    run(tmp_path, "http://127.0.0.1:9", "fork", PROCESS, spool=spool, bound=1.0)

    assert len(list(spool.rglob("*.spans"))) == 2


def test_multiprocessing_is_not_imported_for_this(tmp_path: Path) -> None:
    code = (
        "import rag_monitor as rm, os, sys, json\n"
        "rm.configure()\n"
        "pid = os.fork()\n"
        "if pid: os.waitpid(pid, 0)\n"
        "else: print(json.dumps([n for n in sys.modules if n.startswith('multiproc')]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=30,
        check=True,
    )
    assert json.loads(done.stdout) == []
