"""What `/metrics` hands out: prepared in the background, whatever the database does meanwhile."""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable, Iterator

import pytest
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as open_metric_families,
)
from prometheus_client.parser import text_string_to_metric_families

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.domain.alert import Alert, AlertState, Severity
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.errors import StoreUnavailable
from rag_monitor.exposition import page as page_module
from rag_monitor.exposition.gzip_parts import Part
from rag_monitor.exposition.page import MetricsPage
from rag_monitor.exposition.points import AlertPoint, TracesPoint
from rag_monitor.exposition.snapshot import Memory, Snapshot, build
from rag_monitor.testing import EPOCH
from tests.unit.aggregation.memory import MemoryRollups, facts
from tests.unit.exposition.pages import Database, text_of


def traces(project: str, app: str, count: int = 1) -> TracesPoint:
    return TracesPoint(project=project, app=app, status="ok", count=count)


@pytest.fixture
def started() -> Iterator[Callable[[MetricsPage], MetricsPage]]:
    pages: list[MetricsPage] = []

    def start(page: MetricsPage) -> MetricsPage:
        pages.append(page)
        page.start()
        return page

    yield start
    for page in pages:
        page.stop()


def eventually(ask: Callable[[], bool], within_s: float = 10.0) -> None:
    ends = time.monotonic() + within_s
    while not ask():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_a_process_says_when_the_database_is_away() -> None:
    database = Database()
    page = MetricsPage(None, lambda: False, database)
    assert b"rag_monitor_store_up 1.0" in page.page(None, False)[0]

    database.up = False

    assert b"rag_monitor_store_up 0.0" in page.page(None, False)[0]


def test_the_leader_is_told_from_the_others_and_nobody_leads_without_a_database() -> None:
    def text(*, leads: bool, up: bool = True) -> bytes:
        return MetricsPage(Snapshot, lambda: leads, Database(up)).page(None, False)[0]

    assert b"rag_monitor_leads 1.0" in text(leads=True)
    assert b"rag_monitor_leads 0.0" in text(leads=False)
    assert b"rag_monitor_leads 0.0" in text(leads=True, up=False)


def test_only_the_leader_shows_values_and_only_while_it_leads() -> None:
    leads = [True]
    page = MetricsPage(lambda: Snapshot(traces=(traces("default", "a"),)), lambda: leads[0],
                       Database())  # fmt: skip
    assert b'rag_monitor_traces_total{app="a"' in page.page(None, False)[0]

    leads[0] = False

    assert b"rag_monitor_traces_total" not in page.page(None, False)[0]


def test_a_database_that_is_down_costs_its_values_and_not_the_scrape() -> None:
    def broken() -> Snapshot:
        raise StoreUnavailable

    body, _ = MetricsPage(broken, lambda: True, Database(up=False)).page(None, False)
    names = {f.name for f in text_string_to_metric_families(body.decode("utf-8"))}

    assert "rag_monitor_dropped" in names
    assert "rag_monitor_score" not in names
    assert b"rag_monitor_store_up 0.0" in body


def test_scrapes_do_not_wait_for_a_build_and_share_it(
    started: Callable[[MetricsPage], MetricsPage],
) -> None:
    """Ten scrapers during one build that takes long: no second one begins."""
    release, builds = threading.Event(), []

    def slow() -> Snapshot:
        builds.append(1)
        if len(builds) > 1:
            release.wait(20)
        return Snapshot(traces=(traces("default", "a", len(builds)),))

    page = started(MetricsPage(slow, lambda: True, Database()))
    eventually(lambda: b'app="a"' in page.page(None, False)[0])
    began = time.monotonic()
    try:
        for _ in range(50):
            assert b'app="a"' in page.page(None, False)[0]
        assert time.monotonic() - began < 2.0
        assert len(builds) <= 2
    finally:
        release.set()


def test_a_scrape_is_answered_from_memory_while_the_database_hangs(
    started: Callable[[MetricsPage], MetricsPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_module, "BUILT_EVERY_S", 0.01)
    release, hung, database = threading.Event(), threading.Event(), Database()
    shown = Snapshot(traces=(traces("default", "a"),))

    def hang() -> Snapshot:
        if database.up:
            return shown
        hung.set()
        release.wait(20)
        return shown

    page = started(MetricsPage(hang, lambda: True, database))
    eventually(lambda: b'app="a"' in page.page(None, False)[0])
    database.up = False
    try:
        assert hung.wait(10)
        began = time.monotonic()
        body = page.page(None, False)[0]
        assert time.monotonic() - began < 0.5
        assert b"rag_monitor_store_up 0.0" in body
        assert b'app="a"' not in body, "values of before look like present ones"
        assert b"rag_monitor_dropped" in body
    finally:
        release.set()


def test_values_that_are_too_old_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Snapshot(traces=(traces("default", "a"),))
    calls: list[Snapshot] = [shown]

    def once() -> Snapshot:
        if not calls:
            raise StoreUnavailable
        return calls.pop()

    page = MetricsPage(once, lambda: True, Database())
    assert b'app="a"' in page.page(None, False)[0]
    assert b'app="a"' in page.page(None, False)[0], "one build that fails costs nothing yet"

    monkeypatch.setattr(page_module, "MAX_AGE_S", -1.0)

    assert b'app="a"' not in page.page(None, False)[0]


@pytest.mark.parametrize("open_metrics", [False, True])
def test_a_project_sees_its_own_values_and_all_are_each_ones_together(open_metrics: bool) -> None:
    parse = open_metric_families if open_metrics else text_string_to_metric_families
    evil = "x\n# HELP rag_monitor_score"
    snapshot = Snapshot(
        traces=(traces("default", "a"), traces("team", "team/b", 2), traces("team", evil, 3)),
        alerts=(AlertPoint(project="team", app="team/b", rule="r", state="firing"),),
        apps_folded={"default": 3, "team": 4},
    )
    page = MetricsPage(lambda: snapshot, lambda: True, Database())

    def apps(project: str | None) -> dict[str, float]:
        text = page.page(project, open_metrics)[0].decode()
        families = {family.name: family for family in parse(text)}
        assert len(families) == len(list(parse(text))), "a family stands twice"
        folded = [s.value for s in families["rag_monitor_apps_folded"].samples]
        found = {s.labels["app"]: s.value for s in families["rag_monitor_traces"].samples}
        return {**found, "folded": folded[0]}

    assert apps("default") == {"a": 1, "folded": 3}
    assert apps("team") == {"team/b": 2, evil: 3, "folded": 4}
    assert apps("nobody") == {"folded": 0}
    assert apps(None) == {"a": 1, "team/b": 2, evil: 3, "folded": 7}


@pytest.mark.parametrize("open_metrics", [False, True])
@pytest.mark.parametrize("project", [None, "default", "team", "nobody"])
def test_a_compressed_page_is_one_gzip_member_with_the_same_text(
    project: str | None, open_metrics: bool
) -> None:
    points = tuple(traces(name, f"应用 {n}") for name in ("default", "team") for n in range(500))
    page = MetricsPage(lambda: Snapshot(traces=points), lambda: True, Database())
    page.page(None, False)
    page._running = True  # both are made of the same counters

    text, kind = page.page(project, open_metrics)
    packed, packed_kind = page.page(project, open_metrics, True)

    member = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    lines = member.decompress(packed).split(b"\n")
    age = b"rag_monitor_snapshot_age_seconds "
    assert [line for line in lines if not line.startswith(age)] == [
        line for line in text.split(b"\n") if not line.startswith(age)
    ]
    assert member.eof
    assert member.unused_data == b""
    assert kind == packed_kind
    if project != "nobody":
        assert len(packed) < len(text) / 4


def test_no_scrape_compresses_the_values_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = Snapshot(traces=tuple(traces("default", str(n)) for n in range(500)))
    page = MetricsPage(lambda: snapshot, lambda: True, Database())
    page.page(None, False, True)
    page._running = True
    sizes: list[int] = []
    of = Part.of

    def counted(text: bytes) -> Part:
        sizes.append(len(text))
        return of(text)

    monkeypatch.setattr(Part, "of", counted)
    for project in (None, "default"):
        page.page(project, False, True)

    assert sizes, "the state of the moment is"
    assert max(sizes) < 2_000


def many(count: int) -> tuple[Estimates, list[tuple[str, str]], list[int]]:
    names = [f"app-{n:03d}" for n in range(count)]
    rollups = _Counted([facts(app=name) for name in names])
    return Estimates(rollups), [("default", name) for name in names], rollups.loads


class _Counted(MemoryRollups):
    def __init__(self, given: list[object]) -> None:
        super().__init__(given)  # type: ignore[arg-type]
        self.loads: list[int] = []

    def load(self, wanted: object) -> list[object]:  # type: ignore[override]
        self.loads.append(1)
        return super().load(wanted)  # type: ignore[arg-type,return-value]


def test_apps_beyond_the_series_are_counted_and_cost_nothing() -> None:
    estimates, apps, loads = many(300)
    whole = build(estimates, apps[:10], EPOCH).series
    loads.clear()

    shown = build(estimates, apps, EPOCH, max_series=whole)

    assert {point.app for point in shown.traces} == {app for _, app in apps[:10]}
    assert shown.apps_folded == {"default": 290}
    assert len(loads) <= 4, "the others were read, too"
    assert b"rag_monitor_apps_folded 290.0" in text_of(shown)


def test_many_apps_are_read_together() -> None:
    estimates, apps, loads = many(50)

    build(estimates, apps, EPOCH, memory=Memory())

    assert len(loads) <= 6


def test_an_app_that_is_too_large_does_not_keep_the_others_out() -> None:
    hits = tuple(Hit(kind=HitKind.PLUGIN, name=f"p{n}") for n in range(30))
    estimates = Estimates(MemoryRollups([facts(app="big", hits=hits), facts(app="small")]))
    room = build(estimates, [("default", "small")], EPOCH).series

    shown = build(estimates, [("default", "big"), ("default", "small")], EPOCH, max_series=room)

    assert {point.app for point in shown.traces} == {"small"}
    assert shown.apps_folded == {"default": 1}


def test_no_further_apps_are_read_when_the_time_is_over() -> None:
    estimates, apps, _ = many(60)

    shown = build(estimates, apps, EPOCH, budget_s=-1.0)

    assert shown.apps_folded == {"default": 60}


def test_alerts_that_fire_are_shown_before_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def alert(app: str, state: AlertState) -> Alert:
        return Alert(
            id=app, project="default", rule="r", app=app, state=state, severity=Severity.PAGE,
            since=EPOCH, started_at=EPOCH,
        )  # fmt: skip

    given = [alert("calm", AlertState.RESOLVED), alert("burning", AlertState.FIRING)]
    monkeypatch.setattr("rag_monitor.exposition.snapshot.MAX_ALERTS", 1)

    shown = build(Estimates(MemoryRollups([])), [], EPOCH, given)

    assert [point.app for point in shown.alerts] == ["burning"]
