"""No project has more names than numbers can be kept by, and nothing that was sent is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.names import OTHER_NAME, NameKind, NameLimits
from rag_monitor.domain.rollup import Rollup, RollupKey
from rag_monitor.domain.trace import Expected, Trace
from rag_monitor.store import names as names_module
from rag_monitor.store.names import QUIET_DAYS, Naming
from rag_monitor.store.options import StoreOptions
from rag_monitor.store.store import Store
from rag_monitor.telemetry import REGISTRY
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from tests.contract.evidence import ingest

LIMITS = NameLimits(
    app=2, environment=1, release=1, model=1, plugin=1, knowledge_base=1, workflow=1
)


@contextmanager
def opened(url: str, clock: ManualClock, naming: Naming) -> Iterator[Store]:
    options = StoreOptions(url=url, pool_size=4, ballast_bytes=0, partitions_ahead=20)
    with Store.open(options, clock, naming) as store:
        store.writer.start()
        yield store


@pytest.fixture
def few(database_url: str, clock: ManualClock) -> Iterator[Store]:
    with opened(database_url, clock, Naming(limits=LIMITS)) as store:
        yield store


def stored(store: Store, trace: Trace) -> Trace:
    return store.traces.get("default", trace.trace_id).trace


def apps(store: Store, *traces: Trace) -> list[str]:
    return [stored(store, trace).app for trace in traces]


def folded(kind: str) -> float:
    return REGISTRY.get_sample_value("rag_monitor_names_folded_total", {"kind": kind}) or 0.0


def test_apps_beyond_the_limit_are_counted_as_others_and_keep_what_was_sent(few: Store) -> None:
    before = folded("app")
    given = [make_trace(id=f"t{n}", app=f"app-{n}") for n in range(4)]

    for trace in given:
        ingest(few, trace)

    assert apps(few, *given) == ["app-0", "app-1", OTHER_NAME, OTHER_NAME]
    assert stored(few, given[0]).attributes == {}
    assert stored(few, given[3]).attributes == {"names_sent": {"app": "app-3"}}
    assert {app.app for app in few.traces.apps("default")} == {"app-0", "app-1", OTHER_NAME}
    assert folded("app") == before + 2


def test_of_several_new_names_the_most_frequent_get_the_room(few: Store) -> None:
    rare = [make_trace(id=f"r{n}", app=f"rare-{n}") for n in range(20)]
    often = [make_trace(id=f"o{n}", app=f"often-{n % 2}") for n in range(8)]

    ingest(few, *rare, *often)

    assert set(apps(few, *often)) == {"often-0", "often-1"}
    assert set(apps(few, *rare)) == {OTHER_NAME}


def test_every_kind_of_name_has_a_limit_of_its_own(few: Store) -> None:
    def trace(id: str, name: str) -> Trace:
        return make_trace(
            id=id,
            app="bank",
            environment=f"e-{name}",
            release=f"r-{name}",
            model=f"m-{name}",
            hits=tuple(Hit(kind=kind, name=f"{kind.value}-{name}") for kind in HitKind),
            expected=Expected(plugin=(f"plugin-{name}", "other-plugin"), workflow=()),
        )

    first, second = trace("a", "one"), trace("b", "two")
    ingest(few, first)
    ingest(few, second)

    kept, found = stored(few, first), stored(few, second)
    assert (kept.environment, kept.release, kept.model) == ("e-one", "r-one", "m-one")
    assert {found.environment, found.release, found.model} == {OTHER_NAME}
    assert {hit.name for hit in found.hits} == {OTHER_NAME}
    assert found.expected is not None
    assert found.expected.plugin == (OTHER_NAME,)
    assert found.expected.workflow == ()
    assert found.attributes["names_sent"] == {
        "environment": "e-two",
        "release": "r-two",
        "model": "m-two",
        "hits": {"0": "plugin-two", "1": "knowledge_base-two", "2": "workflow-two"},
        "expected": {"plugin": ["plugin-two", "other-plugin"]},
    }


def test_each_project_has_room_of_its_own(few: Store) -> None:
    given = [make_trace(id=f"t{n}", app=f"app-{n}") for n in range(3)]
    other = make_trace(id="o", app="app-9", project="team")

    ingest(few, *given)
    ingest(few, other)

    assert few.traces.get("team", other.trace_id).trace.app == "app-9"


def test_what_is_folded_in_one_process_is_folded_in_the_next(
    database_url: str, clock: ManualClock
) -> None:
    naming = Naming(limits=LIMITS)
    with opened(database_url, clock, naming) as store:
        ingest(store, *(make_trace(id=f"t{n}", app=f"app-{n}") for n in range(2)))
    with opened(database_url, clock, naming) as store:
        again, late = make_trace(id="u", app="app-1"), make_trace(id="v", app="app-7")
        ingest(store, again, late)

        assert apps(store, again, late) == ["app-1", OTHER_NAME]


def test_a_name_that_is_not_used_any_more_makes_room(
    few: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names_module, "_AGAIN_S", 0.0)
    ingest(few, *(make_trace(id=f"t{n}", app=f"app-{n}") for n in range(2)))
    for day in range(1, QUIET_DAYS + 2):
        clock.set(EPOCH + timedelta(days=day))
        ingest(few, make_trace(id=f"d{day}", app="app-1", started_at=clock.now()), at=clock.now())
    new = [make_trace(id=f"n{n}", app=f"new-{n}", started_at=clock.now()) for n in range(2)]

    for trace in new:
        ingest(few, trace, at=clock.now())

    assert apps(few, *new) == ["new-0", OTHER_NAME], "app-0 was quiet, app-1 is in use"


def test_apps_of_before_there_were_limits_keep_their_names(few: Store) -> None:
    minute = EPOCH - timedelta(hours=1)
    places = [("default", f"old-{n}", minute) for n in range(5)]
    few.rollups.mark_changed(places, EPOCH)
    rows = [
        Rollup(key=RollupKey(project=project, app=app, metric="traces", minute=at), count=1)
        for project, app, at in places
    ]
    few.rollups.replace(few.rollups.changed(), rows)
    old, new = make_trace(id="a", app="old-4"), make_trace(id="b", app="new")

    ingest(few, old, new)

    assert apps(few, old, new) == ["old-4", OTHER_NAME]


def test_a_rewritten_name_gives_back_its_place(database_url: str, clock: ManualClock) -> None:
    pods = [make_trace(id=f"t{n}", app=f"bank-{n}") for n in range(2)]
    with opened(database_url, clock, Naming(limits=LIMITS)) as store:
        ingest(store, *pods)
    naming = Naming(limits=LIMITS, rewrite_app=lambda name: name.rstrip("0123456789-"))
    with opened(database_url, clock, naming) as store:
        pod, other = make_trace(id="u", app="bank-77"), make_trace(id="v", app="desk")
        ingest(store, pod, other)

        assert apps(store, pod, other) == ["bank", "desk"]
        assert stored(store, pod).attributes == {"names_sent": {"app": "bank-77"}}
        (counted,) = store.names.counts()
        assert counted.names == ("bank", "desk")


def test_what_was_sent_is_kept_when_a_rewritten_name_is_folded(
    database_url: str, clock: ManualClock
) -> None:
    naming = Naming(limits=NameLimits(app=1), rewrite_app=lambda name: name.split("-")[0])
    with opened(database_url, clock, naming) as store:
        first, second = make_trace(id="a", app="bank-1"), make_trace(id="b", app="desk-1")
        ingest(store, first)
        ingest(store, second)

        assert apps(store, first, second) == ["bank", OTHER_NAME]
        assert stored(store, second).attributes == {"names_sent": {"app": "desk-1"}}


def test_a_project_that_is_full_is_told_once_and_counted(
    few: Store, caplog: pytest.LogCaptureFixture
) -> None:
    for n in range(6):
        ingest(few, make_trace(id=f"t{n}", app=f"app-{n}"))

    told = [r.getMessage() for r in caplog.records if "further ones" in r.getMessage()]
    assert len(told) == 1
    assert "'default' has 2 names of kind app" in told[0]
    (counted,) = few.names.counts()
    assert (counted.kind, counted.names, counted.full) == (NameKind.APP, ("app-0", "app-1"), True)


def test_names_that_no_database_stores_are_known_again(few: Store) -> None:
    evil = "a\0\ud800" + "x" * 500
    first, second = make_trace(id="a", app=evil), make_trace(id="b", app=evil)

    ingest(few, first)
    ingest(few, second)

    assert len({*apps(few, first, second)}) == 1
    assert OTHER_NAME not in apps(few, first, second)
