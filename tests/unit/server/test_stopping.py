"""A process that is told to stop ends in time, whatever hangs in it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
DRAIN_S, GRACE_S = 0.5, 0.5
_PROCESS = f"""
import asyncio, logging, signal, sys, threading
import uvicorn
from rag_monitor.server import process, run

process.GRACE_S = {GRACE_S}
logging.basicConfig(level="WARNING")

def wait_for_ever():
    threading.Event().wait()

async def main():
    stop = process.Stopping({DRAIN_S})
    server = run._Server(uvicorn.Config(lambda: None), stop)
    with server.capture_signals():
        signal.signal(signal.SIGUSR1, lambda *_: None)
        print("ready", flush=True)
        BODY
asyncio.run(main())
print("ended", flush=True)
"""
_HANGS = {
    "nothing": "await stop.begun()",
    "a thread": "threading.Thread(target=wait_for_ever, name='query').start(); await stop.begun()",
    "an executor": "await asyncio.to_thread(wait_for_ever)",
    "the event loop": "wait_for_ever()",
    "the log": "logging.root.handlers[0].acquire();"
    " threading.Thread(target=lambda: None).start(); await asyncio.Event().wait()",
    "closing": "await stop.begun(); await stop.within(60, 'closing', wait_for_ever)",
}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("hangs", _HANGS)
def test_it_ends_whatever_hangs(hangs: str, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _PROCESS.replace("BODY", _HANGS[hangs])],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGUSR1)  # another signal is no reason to end
        time.sleep(0.2)
        assert process.poll() is None
        began = time.monotonic()
        process.send_signal(number)

        out, errors = process.communicate(timeout=60)
    finally:
        process.kill()

    assert process.returncode == 0, errors
    if hangs == "nothing":
        assert out == "ended\n"
        assert "by force" not in errors
        return
    # A busy machine may be slow to wake a thread up; without the deadline it would take for ever.
    assert time.monotonic() - began < 30
    if hangs != "the log":
        assert "the process ends by force, 1 s after it was told to stop" in errors
    if hangs == "a thread":
        assert "query in threading.py:wait" in errors
