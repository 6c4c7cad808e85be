"""Fixtures for every test: a clean environment, a manual clock, the labelled data."""

from __future__ import annotations

import asyncio
import os
import sys
from functools import cache
from pathlib import Path

import pytest
import typer.main
import typer.testing
from hypothesis import HealthCheck, settings

from rag_monitor.testing import ManualClock
from tests.db import (  # noqa: F401 - fixtures
    database_url,
    dialect,
    empty_database_url,
    postgresql_databases,
    postgresql_template,
)

asyncio.set_event_loop(None)
"""Else a library that asks for a loop outside of one (LlamaIndex) gets one that nobody closes.

Collected at any time later, it would fail whatever test is running then.
"""
typer.main.get_command = typer.testing._get_command = cache(typer.main.get_command)
"""A process builds its command once, from the signatures of all of them; tests run hundreds."""
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
"""Else each process that a test starts compiles the package anew, which takes seconds."""
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
"""Threads of several test processes wait for each other's cores, busily: ten times the work."""
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
"""Tests send nothing to anybody; what it logs when it cannot would fall into any other test."""
settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("steady"), max_examples=10_000)
settings.load_profile("steady")  # a busy machine is no failure of what is tested

_SCRUBBED = ("RAG_MONITOR_", "OTEL_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of the machine must not change what a test sees."""
    for name in list(os.environ):
        if name.upper().startswith(_SCRUBBED) and not name.startswith("RAG_MONITOR_TEST_"):
            monkeypatch.delenv(name, raising=False)


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands at `testing.EPOCH`."""
    return ManualClock()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with labelled data; skips where it is not there."""
    root = Path(os.environ.get("RAG_MONITOR_TEST_DATA", ""))
    candidates = [root] if root.name else []
    candidates.append(Path(__file__).resolve().parents[2] / "shared" / "data")
    for folder in candidates:
        if folder.is_dir():
            return folder
    pytest.skip("labelled data not found: set RAG_MONITOR_TEST_DATA to its folder")


@pytest.fixture(scope="session")
def reference_vectors() -> Path:
    """The folder with test vectors; skips where it is not there."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "reference"
    if not folder.is_dir():
        pytest.skip("reference vectors not found beside the checkout")
    return folder
