"""What is acknowledged is a trace or waits to become one, whenever anybody looks."""

from __future__ import annotations

import pytest

from benchmarks.assembly import together

TRACES = 2_000

pytestmark = pytest.mark.slow


@pytest.mark.timeout(300)
def test_what_is_shown_and_what_waits_add_up_to_what_was_acknowledged_at_every_look(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_MONITOR_JUDGE", "embedded-lexical")

    report = together(database_url, TRACES, look_every_s=0.0)

    print(report)
    assert report["acknowledged"] == report["stored"] == report["shown_at_the_end"] == TRACES
    assert report["looks"] > 2, "nobody looked in the meantime"
    assert report["looks_that_do_not_add_up"] == []
    assert report["queue_depth_at_the_end"] == 0
