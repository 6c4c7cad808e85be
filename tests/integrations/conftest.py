"""What every integration's tests share: a captured monitor that tolerates no internal error."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rag_monitor.sdk.guard import GUARD
from tests.integrations.captured import Captured


@pytest.fixture
def captured() -> Iterator[Captured]:
    """Everything the SDK sends, read back as the monitor reads it."""
    before = dict(GUARD.errors)
    with Captured(app="integration") as exporter:
        yield exporter
    assert before == GUARD.errors, "the integration made a mistake and absorbed it"
