"""How long a newcomer needs from `pip install` to the first scored trace of a LangChain app.

Run it by hand: `python tests/integrations/newcomer.py`. It makes a fresh virtual environment in a
temporary folder, installs this checkout (or `--package`) with LangChain, starts the monitor, runs
the ten lines of `newcomer_app.py` against it, and waits for the first score. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
APP = Path(__file__).with_name("newcomer_app.py")
GIVE_UP_S = 300.0


def main() -> int:
    """Measure, print, and fail when five minutes were not enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", default=str(ROOT), help="what pip installs; with extras added")
    package = parser.parse_args().package
    with tempfile.TemporaryDirectory() as folder:
        report = _measure(Path(folder), package)
    print(json.dumps(report, indent=2))
    return 0 if report["total_s"] <= GIVE_UP_S else 1


def _measure(folder: Path, package: str) -> dict[str, Any]:
    begun = time.monotonic()
    binaries = folder / "venv" / "bin"
    _run([sys.executable, "-m", "venv", str(folder / "venv")], folder)
    _run([str(binaries / "pip"), "install", "-q", f"{package}[server,langchain]"], folder)
    installed = time.monotonic()
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(
        [str(binaries / "rag-monitor"), "serve", "--port", str(port)],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as server:  # fmt: skip
        try:
            _until(lambda: _get(f"{url}/healthz"))
            up = time.monotonic()
            _run([str(binaries / "python"), str(APP)], folder, RAG_MONITOR_ENDPOINT=url)
            answered = time.monotonic()
            trace = _until(lambda: _scored(url))
            scored = time.monotonic()
        finally:
            server.terminate()
    return {
        "install_s": round(installed - begun, 1),
        "monitor_up_s": round(up - installed, 1),
        "application_s": round(answered - up, 1),
        "first_score_s": round(scored - answered, 1),
        "total_s": round(scored - begun, 1),
        "cpu_s": round(_cpu_s(), 1),
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "lines": sum(bool(line.strip()) for line in APP.read_text("utf-8").splitlines()[1:]),
        "scores": {score["metric"]: score.get("value") for score in trace["scores"]},
    }


def _cpu_s() -> float:
    """Processor time of everything that has been run; what a machine of its own would need."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _scored(url: str) -> dict[str, Any] | None:
    page = _get(f"{url}/api/v1/traces") or {}
    for item in page.get("items") or page.get("traces") or []:
        trace = _get(f"{url}/api/v1/traces/{item['trace_id']}")
        if trace and trace.get("scores"):
            return trace
    return None


def _get(url: str) -> dict[str, Any] | None:
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:
            body = reply.read()
    except OSError:
        return None
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _until(attempt: Callable[[], Any]) -> Any:
    until = time.monotonic() + GIVE_UP_S
    while time.monotonic() < until:
        found = attempt()
        if found is not None:
            return found
        time.sleep(0.2)
    raise SystemExit("gave up after five minutes")


def _run(command: list[str], folder: Path, **environment: str) -> None:
    subprocess.run(command, cwd=folder, check=True, env={**os.environ, **environment})


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


if __name__ == "__main__":
    raise SystemExit(main())
