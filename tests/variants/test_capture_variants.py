"""What other instrumentations send, in shapes nobody has tuned for: over HTTP into the store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance.running import Monitor, monitor
from tests.variants.stored import SETTINGS, Stored, check, gather
from tests.variants.wire import Variant, variants

pytestmark = [pytest.mark.timeout(300)]

VARIANTS = variants("o")
KEPT = [variant for variant in VARIANTS if "absent" not in variant.expected]
LEFT_OUT = [variant for variant in VARIANTS if "absent" in variant.expected]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitor]:
    folder = tmp_path_factory.mktemp("variants")
    with monitor(folder, f"sqlite:///{folder / 'monitor.db'}", **SETTINGS) as started:
        yield started


@pytest.fixture(scope="module")
def kept(running: Monitor) -> Stored:
    return gather(running, KEPT)


@pytest.fixture(scope="module")
def left_out(running: Monitor, kept: Stored) -> Stored:
    return gather(running, LEFT_OUT)


@pytest.mark.parametrize("variant", KEPT, ids=lambda variant: variant.id)
def test_a_foreign_trace_is_read_as_it_was_meant(kept: Stored, variant: Variant) -> None:
    check(variant, kept.traces.get(variant.trace_id))


@pytest.mark.parametrize("variant", LEFT_OUT, ids=lambda variant: variant.id)
def test_what_is_no_request_is_not_stored(left_out: Stored, variant: Variant) -> None:
    check(variant, left_out.traces.get(variant.trace_id))


def test_what_is_no_request_is_counted_as_dropped(left_out: Stored) -> None:
    assert len(LEFT_OUT) >= 3
    assert left_out.dropped >= len(LEFT_OUT)
