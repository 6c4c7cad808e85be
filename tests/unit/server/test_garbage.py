"""Garbage collection of a serving process: short pauses, and nothing stays for good."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from rag_monitor.server import garbage
from rag_monitor.server.garbage import collect_in_short_pauses


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    thresholds, callbacks = gc.get_threshold(), list(gc.callbacks)
    yield
    gc.callbacks[:] = callbacks
    gc.set_threshold(*thresholds)
    gc.unfreeze()


class Knot:
    """Keeps itself alive."""

    gone = 0

    def __init__(self) -> None:
        self.self = self

    def __del__(self) -> None:
        Knot.gone += 1


@pytest.fixture(autouse=True)
def none_gone() -> None:
    gc.collect()
    Knot.gone = 0


def test_garbage_of_before_is_gone() -> None:
    Knot()
    collect_in_short_pauses()

    assert Knot.gone == 1


def test_what_is_loaded_is_never_read_again() -> None:
    collect_in_short_pauses()

    assert gc.get_freeze_count() > 1_000
    assert len(gc.get_objects()) < gc.get_freeze_count() / 10


def test_new_garbage_is_found_without_asking() -> None:
    collect_in_short_pauses()
    for _ in range(3 * gc.get_threshold()[0]):
        Knot()

    assert Knot.gone > 0


def test_a_full_collection_leaves_nothing_to_be_read_by_the_next() -> None:
    collect_in_short_pauses()
    cache = [[n] for n in range(30_000)]
    gc.collect()

    assert len(gc.get_objects()) < 5_000 < len(cache)


def test_full_collections_happen_while_objects_survive() -> None:
    collect_in_short_pauses()
    before = gc.get_freeze_count()
    cache = [[n] for n in range(500_000)]

    assert gc.get_freeze_count() - before > len(cache) / 2


def test_garbage_among_frozen_objects_is_freed_once_they_have_grown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(garbage, "_COUNT_EVERY_S", 0.0)
    monkeypatch.setattr(garbage, "_GROWTH", 1.1)  # a process that runs tests has many objects
    collect_in_short_pauses()
    knots = [Knot() for _ in range(100)]
    gc.collect()
    knots.clear()
    gc.collect()
    assert Knot.gone == 0

    cache = [[n] for n in range(gc.get_freeze_count() // 10 + 10_000)]
    gc.collect()  # Counts them.
    gc.collect()  # Reads everything.

    assert Knot.gone == 100
    assert gc.get_freeze_count() > len(cache)


def test_garbage_among_frozen_objects_is_freed_within_the_hour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    collect_in_short_pauses()
    knots = [Knot() for _ in range(100)]
    gc.collect()
    knots.clear()
    now = garbage.time.monotonic()
    monkeypatch.setattr(garbage.time, "monotonic", lambda: now + 3_601)
    gc.collect()
    gc.collect()

    assert Knot.gone == 100
