"""Every chart of every page says what the public API says of the same window.

Charts are found by their markup, on every page there is. A page that is not named here fails, and
so does a chart that a named page has too many or too few, or of which nobody says what it must say.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from fastapi.routing import APIRoute

from rag_monitor.aggregation.steps import steps
from rag_monitor.charts.durations import milliseconds
from rag_monitor.domain.fault import FAULT_METRICS, Fault
from rag_monitor.domain.session_outcome import SESSION_METRICS, SESSION_TURNS
from rag_monitor.domain.window import Window
from rag_monitor.metrics.names import is_share
from rag_monitor.server.app import create_app
from rag_monitor.server.quality import SCORE_METRICS, SHOWN_METRICS, on_grid, step_for
from rag_monitor.server.services import Services
from rag_monitor.server.ui import catalog
from tests.db import new_sqlite
from tests.integration.server import drawn_charts as drawn
from tests.integration.server.drawn_charts import ANY, Bar, Course, figures
from tests.integration.server.populated import APP, APPS, BUSY_APPS, MARKED, populated
from tests.unit.server.conftest import open_app
from tests.unit.server.fakes import make_services

HTML: Final = {"Accept": "text/html"}


class Api:
    """The public API of a server, and its pages."""

    def __init__(self, services: Services, client: httpx.AsyncClient) -> None:
        self.services = services
        self._client = client
        self._known: dict[str, Any] = {}

    async def get(self, path: str, **query: Any) -> Any:
        address = str(httpx.URL(f"/api/v1/{path}", params=query))
        if address not in self._known:
            answer = await self._client.get(address)
            assert answer.status_code == 200, f"{address}: {answer.text}"
            self._known[address] = answer.json()
        return self._known[address]

    async def app(self, app: str, **query: Any) -> Any:
        """What the summary says of an app."""
        (found,) = (await self.get("summary", app=app, **query))["apps"]
        return found

    async def point(self, app: str, metric: str, window: str) -> Any:
        """A metric over a whole window that ends now."""
        whole = await self.window(window)
        step = f"{whole.length // timedelta(minutes=1)}m"
        answer = await self.get("series", app=app, metric=metric, step=step, **ends(whole))
        (point,) = answer["points"]
        return point

    async def window(self, length: str) -> Window:
        """The window of this length that ends now, as every answer says it."""
        told = await self.get("summary", window=length)
        return Window(*(datetime.fromisoformat(told[name]) for name in ("start", "end")))

    async def page(self, path: str) -> str:
        answer = await self._client.get(path, headers=HTML)
        assert answer.status_code == 200, f"{path}: {answer.status_code}"
        return answer.text

    async def newest(self) -> str:
        """A trace that was judged."""
        told = await self.get("traces", app=APP, status="ok", metric="faithfulness", limit=1)
        return str(told["items"][0]["trace_id"])


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    async with (
        populated(new_sqlite(tmp_path / "monitor.db")) as services,
        open_app(create_app(services), timeout=60) as client,
    ):
        yield Api(services, client)


async def test_every_chart_says_what_the_api_says(api: Api) -> None:
    seen: set[str] = set()
    for addresses in PAGES.values():
        for address, expected_of in addresses.items():
            path = address.format(newest=await api.newest())
            text = await api.page(path)
            try:
                seen |= drawn.kinds(text)
                await check_page(api, text, await expected_of(api))
            except AssertionError as error:
                raise AssertionError(f"{path}: {error}") from error

    assert seen == drawn.KINDS  # this story has charts of every kind, so that each was compared


async def test_charts_of_few_apps_say_what_the_api_says(tmp_path: Path) -> None:
    """Few apps are shown with everything, one below the other."""
    async with (
        populated(new_sqlite(tmp_path / "monitor.db"), BUSY_APPS) as services,
        open_app(create_app(services), timeout=60) as client,
    ):
        api = Api(services, client)
        parts = [await of_app(api, app, "24h", alone=False) for app in sorted(BUSY_APPS)]
        whole = Expected(
            courses=sum(part.courses for part in parts),
            bars=[bar for part in parts for bar in part.bars],
        )

        await check_page(api, await api.page("/?window=24h"), whole)


def test_no_page_is_left_out() -> None:
    app = create_app(make_services())
    routes = {
        route.path
        for route in app.state.api_routes
        if isinstance(route, APIRoute) and "GET" in route.methods and not route.include_in_schema
    }

    # Forms are sent to `/ui/`; whoever opens such an address is led to its page.
    pages = {path for path in routes if not path.startswith("/ui/")}
    assert pages == set(PAGES) | NO_CHARTS


# --- What the charts of a page must say -----------------------------------------------------------


@dataclass(kw_only=True)
class Expected:
    """What the charts of a page must say; courses say themselves what they show."""

    courses: int = 0
    tables: bool = False
    """Whether every course has its numbers as a table beneath, too."""
    bars: list[Bar] = field(default_factory=list)
    sparks: Sequence[str] = ()
    """Apps."""
    budgets: list[float] = field(default_factory=list)
    marks: list[tuple[float, bool]] = field(default_factory=list)
    """Probability and what people said, of the reliability diagram."""
    durations: list[float] = field(default_factory=list)


async def check_page(api: Api, text: str, expected: Expected) -> None:
    assert drawn.kinds(text) <= drawn.KINDS, "a drawing that nothing here reads"
    courses = drawn.courses(text)
    assert len(courses) == text.count("data-chart=") == expected.courses
    for course in courses:
        await check_course(api, course)
    tables = drawn.tables(text)
    assert tables == ({c.label: c.rows() for c in courses} if expected.tables else {})
    drawn.check_bars(text, expected.bars)
    sparks = list(drawn.drawings(text, "spark"))
    for (label, inside), app in zip(sparks, expected.sparks, strict=True):
        drawn.check_spark(label, inside, *await traffic(api, app, await api.window("24h")))
    budgets = list(drawn.drawings(text, "budget"))
    for (label, inside), left in zip(budgets, expected.budgets, strict=True):
        drawn.check_budget(label, inside, left)
    check_reliability(drawn.reliability(text), expected.marks)
    if expected.durations or "timeline" in drawn.kinds(text):
        assert drawn.timeline(text)[: len(expected.durations) - 1] == [
            milliseconds(one) for one in expected.durations[:-1]
        ]
        assert drawn.timeline(text)[-1].endswith(milliseconds(expected.durations[-1]))


async def traffic(api: Api, app: str, window: Window) -> tuple[list[int], list[int]]:
    """Traces and errors of an app by step, the first of which begins at a round time."""
    step = step_for(window, 24)
    told = [await api.app(app, **ends(part)) for part in steps(on_grid(window, step), step)]
    return [sum(one["traces"].values()) for one in told], [
        one["traces"].get("error", 0) for one in told
    ]


def ends(window: Window) -> dict[str, str]:
    return {"from": window.start.isoformat(), "to": window.end.isoformat()}


def check_reliability(
    points: list[tuple[float, float, int]], marks: list[tuple[float, bool]]
) -> None:
    """All points together are all marks: their number, mean probability and share of good ones."""
    count = sum(n for *_, n in points)
    assert count == len(marks)
    if marks:
        near = 0.0051
        stated, observed = (sum(p[side] * p[2] for p in points) / count for side in (0, 1))
        assert stated == pytest.approx(sum(p for p, _ in marks) / count, abs=near)
        assert observed == pytest.approx(sum(good for _, good in marks) / count, abs=near)


# --- Values over time -----------------------------------------------------------------------------


async def summaries(api: Api, course: Course) -> list[Any]:
    """What the API says of the app, for each point of a chart."""
    return [await api.app(course.app, **ends(window)) for window in course.windows]


async def check_traffic(api: Api, course: Course) -> None:
    totals = [sum(one["traces"].values()) for one in await summaries(api, course)]
    line = course.line("Traces")

    assert line["values"] == totals
    assert [figures(said) for said in line["said"]] == [[total] for total in totals]


async def check_errors(api: Api, course: Course) -> None:
    line = course.line("Errors")
    told = await summaries(api, course)
    for one, value, said in zip(told, line["values"], line["said"], strict=True):
        total, failed = sum(one["traces"].values()), one["traces"].get("error", 0)
        if not total:
            assert (value, said) == (None, "–")
            continue
        assert value == pytest.approx(failed / total, abs=1e-6)
        percent, *counts = figures(said)
        assert counts == [failed, total]
        assert percent == pytest.approx(100 * failed / total, abs=0.5)


async def check_latency(api: Api, course: Course) -> None:
    metric = {"Latency, end to end": "end_to_end_ms", "Time to first byte": "first_byte_ms"}
    for place, one in enumerate(await summaries(api, course)):
        by_name = {latency["metric"]: latency for latency in one["latency"]}
        latency = by_name[metric[course.label]]
        for name in ("p50", "p90"):
            line = course.line(name)
            told = latency[name]
            assert line["values"][place] == (None if told is None else pytest.approx(told))
            assert line["said"][place] == milliseconds(told)


async def check_metric(api: Api, course: Course, metric: str) -> None:
    first, last = course.windows[0], course.windows[-1]
    step = f"{first.length // timedelta(minutes=1)}m"
    whole = ends(Window(first.start, last.end))
    told = await api.get("series", app=course.app, metric=metric, step=step, **whole)
    (line,) = course.told["lines"]
    for point, value, said in zip(told["points"], line["values"], line["said"], strict=True):
        if point["value"] is None:
            assert (value, said) == (None, "–")
            continue
        assert value == pytest.approx(point["value"], abs=1e-6)
        scale, near = (100, 0.51) if is_share(metric) else (1, 0.0051)
        names = ("value", "lower", "upper") if point["lower"] is not None else ("value",)
        *shown, judged = figures(said)
        assert judged == point["judged"]
        assert shown == pytest.approx([scale * point[name] for name in names], abs=near)


async def check_budget_left(api: Api, course: Course) -> None:
    (slo,) = [one for one in (await api.get("slos"))["slos"] if one["app"] == course.app]
    (line,) = course.told["lines"]
    left = [day["budget_left"] for day in slo["course"]]

    assert [None if rest is None else round(rest, 6) for rest in left] == line["values"]
    for rest, said in zip(left, line["said"], strict=True):
        assert figures(said) == ([] if rest is None else [pytest.approx(100 * rest, abs=0.51)])


OVER_TIME: Final[Mapping[str, Callable[[Api, Course], Awaitable[None]]]] = {
    "Traffic": check_traffic,
    "Share of errors": check_errors,
    "Latency, end to end": check_latency,
    "Time to first byte": check_latency,
    "Error budget left, by day (UTC)": check_budget_left,
}
HIT_RATE: Final = "Hit rate: "
METRICS: Final = {f"{label} over time": name for name, (label, _) in catalog.METRICS.items()}


async def check_hit_rate(api: Api, course: Course) -> None:
    name = course.label.removeprefix(HIT_RATE)
    (line,) = course.told["lines"]
    basis = {"where expected": "expected", "of all": "all"}[line["name"]]
    told = await summaries(api, course)
    for one, value, said in zip(told, line["values"], line["said"], strict=True):
        rates = [r for r in one["hit_rates"] if (r["name"], r["basis"]) == (name, basis)]
        if not rates:  # nothing was expected in this step, or nothing came
            assert not value
            continue
        percent, hits, base = figures(said)
        assert base == rates[0]["traces"]
        assert value == pytest.approx(rates[0]["value"], abs=1e-6)
        assert hits == pytest.approx(rates[0]["value"] * base)
        assert percent == pytest.approx(100 * rates[0]["value"], abs=0.5)


async def check_course(api: Api, course: Course) -> None:
    """A chart whose title is not known has a title that no API call belongs to: KeyError."""
    if course.label in OVER_TIME:
        await OVER_TIME[course.label](api, course)
    elif course.label.startswith(HIT_RATE):
        await check_hit_rate(api, course)
    else:
        await check_metric(api, course, METRICS[course.label])


# --- The pages ------------------------------------------------------------------------------------


def bar(one: Mapping[str, Any] | None) -> Bar:
    return (None, None, None) if one is None else (one["value"], one["lower"], one["upper"])


async def every_app(api: Api) -> Expected:
    """The list: three metrics and the traffic of each app."""
    found: list[Bar] = []
    for app in sorted(APPS):
        metrics = {one["metric"]: one for one in (await api.app(app, window="24h"))["metrics"]}
        shown = ("faithfulness", "context_relevance", "answer_relevance")
        found += [bar(metrics.get(metric)) for metric in shown]
    return Expected(bars=found, sparks=sorted(APPS))


async def of_app(api: Api, app: str, window: str, *, alone: bool) -> Expected:
    """An app: its metrics, faults, sessions, hits, and, alone, knowledge bases."""
    told = await api.app(app, window=window)
    found = [bar(one) for one in told["metrics"]]
    points = [
        await api.point(app, metric, window)
        for metric, fault in FAULT_METRICS.items()
        if fault is not Fault.NONE
    ]
    faults = sorted(
        (point for point in points if (point["value"] or 0.0) >= 0.005), key=lambda p: -p["value"]
    )
    found += [bar(point) for point in faults[: None if alone else 5]]
    found += [
        bar(one)
        for one in told["sessions"]
        if one["metric"] != "session_turns" and one["lower"] is not None
    ]
    found += [bar(one) for one in told["hit_rates"] if one["basis"] == "expected"]
    for base in told["knowledge_bases"] if alone else ():
        metrics = {one["metric"]: one for one in base["metrics"]}
        shown = ("faithfulness", "context_precision", "context_relevance")
        found += [bar(metrics[metric]) for metric in shown if metric in metrics]
    courses = 4 + sum(one["value"] is not None for one in told["metrics"])
    if alone:
        names = {(one["kind"], one["name"]) for one in told["hit_rates"]}
        courses += min(4, len(faults)) + min(4, len(names))
    return Expected(bars=found, courses=courses, tables=alone)


async def one_app(api: Api) -> Expected:
    return await of_app(api, APP, "6h", alone=True)


async def alerts(api: Api) -> Expected:
    firing = (await api.get("alerts", state="firing"))["alerts"]
    return Expected(courses=min(5, len(firing)))


async def one_alert(api: Api) -> Expected:
    return Expected(courses=1)


async def objectives(api: Api) -> Expected:
    told = await api.get("slos")
    left = [one["budget_left"] for one in told["slos"] if one["budget_left"] is not None]
    judging = [one["budget_left"] for one in told["judging_budgets"]]
    return Expected(courses=len(left), tables=True, budgets=left + judging)


async def objectives_of_app(api: Api) -> Expected:
    left = [one["budget_left"] for one in (await api.get("slos", app=APP))["slos"]]
    return Expected(courses=len(left), tables=True, budgets=left)


async def releases(api: Api) -> Expected:
    """A and B of each metric, of the errors, of each fault, and of each hit."""
    sides = [await api.app(APP, release=release, window="24h") for release in ("1.0", "2.0")]
    told = await api.get("releases/compare", app=APP, release="2.0", against="1.0", window="24h")
    changes = {one["metric"]: one for one in told["changes"]}

    def both(metrics: Sequence[str]) -> list[Bar]:
        shown = [changes[metric] for metric in metrics if metric in changes]
        return [bar(change[side]) for change in shown for side in ("second", "first")]

    # The summary counts errors, and says no interval.
    errors: list[Bar] = [
        (side["traces"].get("error", 0) / sum(side["traces"].values()), ANY, ANY) for side in sides
    ]
    rates = [{(r["kind"], r["name"], r["basis"]): r for r in side["hit_rates"]} for side in sides]
    hits: list[Bar] = []
    for kind, name in dict.fromkeys((kind, name) for side in rates[::-1] for kind, name, _ in side):
        expected = any((kind, name, "expected") in side for side in rates)
        key = (kind, name, "expected" if expected else "all")
        hits += [bar(side.get(key)) for side in rates]
    sessions = both([metric for metric in SESSION_METRICS if metric != SESSION_TURNS])
    faults = both([*FAULT_METRICS])
    return Expected(bars=both(SHOWN_METRICS) + errors + faults + sessions + hits)


async def documents(api: Api) -> Expected:
    items = (await api.get("documents", limit=50))["items"]
    kinds = ("relevant", "useful", "used", "at_fault")
    shares = [one[kind] for one in items for kind in kinds]
    return Expected(bars=[bar(share) for share in shares if share["value"] is not None])


async def topics(api: Api) -> Expected:
    """All of them; then those with gaps, then those with missed passages."""
    told = (await api.get("topics", app=APP))["topics"]
    kinds = ("traffic", "at_fault", "faithfulness", "refusals", "satisfaction")
    found = [bar(one[kind]) for one in told for kind in kinds if one[kind] is not None]
    for fault in ("knowledge_gap", "missed_retrieval"):
        having = [one for one in told if fault in one["faults"]]
        having.sort(key=lambda one: (-one["faults"][fault]["value"] * one["questions"], one["id"]))
        found += [bar(one["faults"][fault]) for one in having[:10]]
    return Expected(bars=found)


async def judges(api: Api) -> Expected:
    """The marks that people made on faithfulness, beside the probability that the judge gave."""
    marks = []
    for row in (await api.get("traces", app=APP, limit=500))["items"]:
        told = await api.get(f"traces/{row['trace_id']}")
        scores = {one["metric"]: one["value"] for one in told["scores"]}
        if told["feedback"] and scores.get("answer_supported") is not None:
            marks.append((scores["answer_supported"], told["feedback"][-1]["value"] > 0.5))
    assert MARKED / 2 < len(marks) <= MARKED
    return Expected(marks=marks)


async def one_trace(api: Api) -> Expected:
    told = await api.get(f"traces/{await api.newest()}")
    scored = [
        one
        for one in told["scores"]
        if one["status"] == "scored" and one["metric"] != "refusal_rate"
    ]
    scored.sort(key=lambda one: SCORE_METRICS.index(one["metric"]))
    names = ("end_to_end_ms", "retrieval_ms", "generation_ms", "first_byte_ms")
    return Expected(
        bars=[(one["value"], None, None) for one in scored],
        durations=[told["timings"][name] for name in names],
    )


async def nothing(api: Api) -> Expected:
    return Expected()


PAGES: Final[Mapping[str, Mapping[str, Callable[[Api], Awaitable[Expected]]]]] = {
    "/": {"/": every_app, f"/?app={APP}&window=6h": one_app},
    "/alerts": {"/alerts": alerts},
    "/alerts/{alert_id}": {
        f"/alerts/alert-{kind}": one_alert for kind in ("drop", "error_rate", "latency", "traffic")
    },
    "/slos": {"/slos": objectives, f"/slos?app={APP}": objectives_of_app},
    "/compare": {f"/compare?app={APP}&a=1.0&b=2.0": releases},
    "/documents": {"/documents": documents},
    "/topics": {f"/topics?app={APP}": topics},
    "/judges": {"/judges": judges},
    "/traces/{trace_id}": {"/traces/{newest}": one_trace},
    "/traces": {"/traces": nothing, "/traces?view=table": nothing},
    "/sessions": {"/sessions": nothing},
    "/session": {f"/session?id={APP}-s-1": nothing},
    "/labels": {"/labels": nothing},
    "/labels/{trace_id}": {"/labels/{newest}": nothing},
    "/runbooks": {"/runbooks": nothing},
    "/settings": {"/settings": nothing},
    "/docs": {"/docs": nothing},
}
"""By route: addresses, and what their charts must say."""
NO_CHARTS: Final = {
    "/login", "/login/oidc", "/login/oidc/callback", "/labels/next",
    "/static/{name}", "/favicon.ico", "/compare.csv", "/openapi.json",
}  # fmt: skip
"""Neither pages, nor more than a form, nor more than a way to another page."""
