"""What changed: one app in two stretches of time, and the apps of a list since the time before."""

from __future__ import annotations

import csv
import io
import random
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from urllib.parse import parse_qs

import pytest

from rag_monitor.aggregation.comparison import compare
from rag_monitor.domain.hit import HitKind
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.window import Estimate, Series, Window
from rag_monitor.server.quality import SHOWN_METRICS
from rag_monitor.server.services import Services
from rag_monitor.server.ui import changes
from rag_monitor.server.ui.changes import Changed
from rag_monitor.statistics.wilson import wilson_interval
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from tests.unit.server.conftest import open_client
from tests.unit.server.fake_estimates import FakeEstimates, Latency
from tests.unit.server.fakes import make_services
from tests.unit.server.story import make_stored
from tests.unit.server.test_pages import HTML

NOW = Window(EPOCH, EPOCH + timedelta(hours=1))
A = Selection(project="default", app="a", window=NOW)
B = A.over(NOW.before())


class Counted(FakeEstimates):
    """Numbers as they are given, by what they are of and whether they are of now."""

    def __init__(self, **given: Mapping[bool, tuple[float, float, float]]) -> None:
        self.given = given
        self.counts: dict[bool, dict[str, int]] = {True: {}, False: {}}

    def estimate(
        self, series: Series, window: Window, *, min_judged: int | None = None
    ) -> Estimate:
        return self._of(series.metric, window, series)

    def hit_rate(self, selection: Selection, kind: HitKind, name: str, basis: str) -> Estimate:
        return self._of(f"{basis}_{name}", selection.window, selection.series("hit_rate"))

    def _of(self, name: str, window: Window, series: Series) -> Estimate:
        numbers = self.given.get(name, {}).get(window == NOW)
        value, lower, upper = numbers or (None, None, None)
        return Estimate(series=series, window=window, value=value, lower=lower, upper=upper)

    def traces(self, selection: Selection) -> dict[str, int]:
        return self.counts[selection.window == NOW]


def test_a_metric_is_worse_only_where_the_interval_of_the_difference_says_so() -> None:
    source = Counted(
        faithfulness={True: (0.6, 0.5, 0.7), False: (0.9, 0.85, 0.94)},
        context_relevance={True: (0.5, 0.4, 0.6), False: (0.55, 0.45, 0.65)},
        refusal_rate={True: (0.3, 0.25, 0.35), False: (0.1, 0.06, 0.14)},
        context_recall={True: (0.3, 0.25, 0.35)},
    )
    found = {metric: changes.of_metric(source, metric, B, A) for metric in source.given}

    assert {metric: row.verdict for metric, row in found.items() if row} == {
        "faithfulness": "worse",
        "context_relevance": "same",
        "refusal_rate": "worse",
        "context_recall": "unknown",
    }
    assert changes.of_metric(source, "summary_score", B, A) is None


def test_errors_are_worse_where_more_fail_and_few_traces_say_nothing() -> None:
    source = Counted()
    source.counts = {True: {"ok": 80, "error": 20}, False: {"ok": 97, "error": 1, "cancelled": 2}}
    more = changes.of_errors(source, B, A)
    source.counts = {True: {"ok": 9, "error": 9}, False: {"ok": 100}}
    few = changes.of_errors(source, B, A)
    source.counts = {True: {}, False: {}}

    assert more is not None
    assert few is not None
    assert (more.after.value, more.before.value, more.verdict) == (0.2, 0.01, "worse")
    assert few.verdict == "unknown"
    assert changes.of_errors(source, B, A) is None


def test_a_thing_that_nobody_expects_is_hit_more_or_less_often_and_not_better() -> None:
    source = Counted(
        expected_calculator={True: (0.6, 0.5, 0.7), False: (0.9, 0.85, 0.94)},
        all_calculator={True: (0.1, 0.0, 0.2), False: (0.9, 0.85, 0.94)},
        all_manuals={True: (0.1, 0.05, 0.2), False: (0.9, 0.85, 0.94)},
    )

    found = changes.of_hits(source, B, A)

    assert [(row.name, row.after.value, row.verdict) for row in found] == [
        ("manuals", 0.1, "other"),
        ("calculator", 0.6, "worse"),
    ]


def test_an_end_that_rounds_to_nothing_has_a_digit_more() -> None:
    few = {True: (0.02, 0.004, 0.08), False: (0.0, 0.0, 0.004)}
    fewer = {True: (0.02, 0.004, 0.08), False: (0.0, 0.0, 0.02)}
    found = [
        changes.of_metric(Counted(refusal_rate=given), "refusal_rate", B, A)
        for given in (few, fewer)
    ]

    assert [(row.verdict, row.digits) for row in found if row] == [("worse", 3), ("same", 2)]


def test_changes_shown_together_are_judged_among_all_of_them() -> None:
    """p = 0.009: news among five, none among ten."""
    slight = {True: (0.7, 0.63, 0.77), False: (0.8, 0.772, 0.828)}
    nothing = {True: (0.8, 0.7, 0.9), False: (0.8, 0.7, 0.9)}
    clear = {True: (0.3, 0.25, 0.35), False: (0.8, 0.75, 0.85)}

    def judged(*given: Mapping[bool, tuple[float, float, float]]) -> list[str]:
        found = [
            changes.of_metric(Counted(faithfulness=one), "faithfulness", B, A) for one in given
        ]
        return [row.verdict for row in changes.together([row for row in found if row])]

    assert judged(slight) == ["worse"]
    assert judged(slight, *[nothing] * 4) == ["worse", *["same"] * 4]
    assert judged(slight, *[nothing] * 9) == ["among", *["same"] * 9]
    assert judged(slight, clear, *[nothing] * 2) == ["worse", "worse", "same", "same"]
    assert judged(slight, *[{True: (0.7, 0.6, 0.8)}] * 9) == ["worse", *["unknown"] * 9]
    assert changes.together([]) == []


def test_where_nothing_changed_few_pages_have_a_mark() -> None:
    draw = random.Random(5)
    series = Series(project="default", app="a", metric="faithfulness", judge="j")

    def estimate() -> Estimate:
        good = sum(draw.random() < 0.8 for _ in range(60))
        ends = wilson_interval(good, 60)
        return Estimate(
            series=series, window=NOW, value=good / 60, lower=ends.lower, upper=ends.upper
        )

    def page() -> list[Changed]:
        pairs = [(estimate(), estimate()) for _ in range(30)]
        return [
            Changed(metric="faithfulness", before=a, after=b, change=compare(b, a))
            for a, b in pairs
        ]

    pages = [page() for _ in range(100)]

    def with_marks(shown: list[list[Changed]]) -> int:
        return sum(any(row.verdict in {"better", "worse"} for row in rows) for rows in shown)

    assert with_marks(pages) > 50
    assert with_marks([changes.together(rows) for rows in pages]) <= 10


async def test_a_change_that_is_lost_among_many_says_so(services: Services) -> None:
    source = Counted(
        faithfulness={True: (0.7, 0.629, 0.771), False: (0.8, 0.76, 0.84)},
        **{
            name: {True: (0.8, 0.7, 0.9), False: (0.8, 0.7, 0.9)}
            for name in SHOWN_METRICS
            if name != "faithfulness"
        },
    )
    shown = replace(services, estimates=source)
    async with open_client(shown, headers=HTML) as client:
        text = (
            await client.get(
                "/compare",
                params={
                    "app": "loan-assistant",
                    "against": "before",
                    "from": NOW.start.isoformat(),
                    "to": NOW.end.isoformat(),
                },
            )
        ).text

    assert "not clear among" in text
    assert "▼" not in text


def test_a_quantile_that_grew_is_worse_and_one_without_an_end_bears_no_comparison() -> None:
    class Slower(FakeEstimates):
        def latency(self, selection: Selection, metric: str) -> Latency:
            times = 2 if selection.window == NOW else 1
            return Latency(90, 100.0 * times, 200.0 * times, 900.0 * times, 130.0 * times)

    p50, p99 = changes.of_latencies(
        Slower(ManualClock(EPOCH)), ["end_to_end_ms"], [0.5, 0.99], B, A
    )

    assert (p50.before.value, p50.after.value, p50.change.value) == (100.0, 200.0, 100.0)
    assert (p50.verdict, p99.verdict) == ("worse", "unknown")


async def test_the_older_release_stands_first_and_what_got_worse_leads_to_its_traces(
    services: Services,
) -> None:
    class Invents(FakeEstimates):
        def estimate(
            self, series: Series, window: Window, *, min_judged: int | None = None
        ) -> Estimate:
            found = super().estimate(series, window)
            if series.metric != "fault:invented" or series.release != "2.1.0":
                return found
            return replace(found, value=0.4, lower=0.35, upper=0.45)

    where = {"app": "loan-assistant", "window": "6h"}
    shown = replace(services, estimates=Invents(services.clock))
    async with open_client(shown, headers=HTML) as client:
        text = (await client.get("/compare", params=where)).text
        other = {**where, "a": "2.1.0", "b": "2.0.3"}
        turned = (await client.get("/compare", params=other)).text
        one = (await client.get("/compare", params={**where, "b": "2.0.3"})).text

    assert "A · 2.0.3" in text
    assert "B · 2.1.0" in text
    assert "B minus A" in text
    assert "A · 2.1.0" in turned
    assert "A · 2.1.0" in one
    (link,) = re.findall(r'href="/traces\?([^"]+)"', text)
    assert parse_qs(link.replace("&amp;", "&")) == {
        "app": ["loan-assistant"],
        "release": ["2.1.0"],
        "since": ["6h"],
        "fault": ["invented"],
    }


async def test_shares_are_compared_in_percent_and_points_scores_with_two_digits(
    services: Services,
) -> None:
    where = {"app": "loan-assistant", "window": "6h", "a": "2.0.3", "b": "2.1.0"}
    async with open_client(services, headers=HTML) as client:
        english = (await client.get("/compare", params=where)).text
        chinese = (await client.get("/compare", params={**where, "lang": "zh"})).text

    rows = {
        name: row
        for row in re.findall(r"<tr><th scope=.*?</tr>", english, re.DOTALL)
        for name in re.findall(r'<th scope="row"[^>]*>([^<]+)</th>', row)
    }
    for share in ("Refusal rate", "Errors", "Share of invented answers"):
        values = re.findall(r"<b>([^<]+)</b>", rows[share])
        assert re.fullmatch(r"[\d.]+%", values[0]), share
        assert re.fullmatch(r"[+−]?[\d.]+ points", values[2]), share
    assert re.fullmatch(r"0\.\d\d", re.findall(r"<b>([^<]+)</b>", rows["Faithfulness"])[0])
    assert "个百分点" in chinese


async def test_what_is_compared_can_be_downloaded(services: Services) -> None:
    where = {"app": "loan-assistant", "window": "6h", "a": "2.0.3", "b": "2.1.0"}
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/compare", params=where)).text
        (address,) = re.findall(r'href="(/compare\.csv[^"]*)"', text)
        table = await client.get(address.replace("&amp;", "&"))
        nothing = await client.get("/compare.csv", params={"app": "none", "against": "before"})

    rows = list(csv.DictReader(io.StringIO(table.text.removeprefix("\ufeff"))))
    shown = {row["metric"]: row for row in rows if not row["name"]}
    assert table.headers["content-type"].startswith("text/csv")
    assert float(shown["faithfulness"]["b_minus_a"]) == pytest.approx(
        float(shown["faithfulness"]["b_value"]) - float(shown["faithfulness"]["a_value"])
    )
    assert "end_to_end_ms p90" in shown
    assert nothing.status_code == 200


async def test_one_app_is_compared_with_the_time_before_and_a_week_earlier(
    services: Services,
) -> None:
    async with open_client(services, headers=HTML) as client:
        where = {"app": "loan-assistant", "from": "2026-01-05T06:00", "to": "2026-01-05T12:00"}
        before = (await client.get("/compare", params={**where, "against": "before"})).text
        week = (await client.get("/compare", params={**where, "against": "week"})).text
        long = (await client.get("/compare", params={"window": "7d", "against": "day"})).text

    assert "B · 01-05 06:00 – 12:00" in before
    assert "A · 01-05 00:00 – 06:00" in before
    assert "Share of traces that failed" in before
    assert "calculator" in before
    assert "A · 12-29 06:00 – 12:00" in week
    assert "Cannot be applied: <code>against=day</code>" in long
    assert '<option value="day"' not in long


async def test_red_is_what_got_worse_and_not_what_was_always_low(services: Services) -> None:
    async def tiles(app: str) -> dict[str, str]:
        text = (await client.get("/", params={"app": app, "window": "6h"})).text
        found = re.findall(
            r'<article class="(tile[^"]*)">\s*<h3 class="label"><a [^>]*>([^<]+)', text
        )
        return {name: classes for classes, name in found}

    async with open_client(services, headers=HTML) as client:
        fell, steady = await tiles("loan-assistant"), await tiles("support-bot")

    assert fell["Faithfulness"] == "tile low"
    assert fell["Refusal rate"] == "tile"
    assert steady["Context utilization"] == "tile"  # 0.48, as ever
    assert set(steady.values()) == {"tile"}


@pytest.fixture
def many() -> Services:
    services = make_services()
    for number in range(5):
        trace = make_trace(app=f"app-{number}", id=f"t{number}", started_at=EPOCH)
        services.traces.stored["default", trace.trace_id] = make_stored(trace)  # type: ignore[attr-defined]
    return services


async def test_a_list_of_apps_marks_what_got_worse_and_leads_to_the_comparison(
    many: Services,
) -> None:
    async with open_client(many, headers=HTML) as client:
        text = (await client.get("/", params={"window": "6h"})).text

    marks = re.findall(r'<a class="moved (\w+)" href="([^"]+)"', text)
    assert ("worse", "/compare?app=loan-assistant&amp;against=before&amp;window=6h") in marks
    assert {address.split("&")[0] for _, address in marks} == {"/compare?app=loan-assistant"}


async def test_a_list_of_apps_stands_in_the_order_that_is_asked_for(many: Services) -> None:
    async with open_client(many, headers=HTML) as client:
        by_name = (await client.get("/", params={"window": "6h"})).text
        worst = (await client.get("/", params={"window": "6h", "sort": "faithfulness"})).text
        wrong = (await client.get("/", params={"sort": "<b>"})).text

    def apps(text: str) -> list[str]:
        return re.findall(r'<th scope="row"[^>]*><a [^>]*>([^<]+)</a>', text)

    assert apps(by_name) == sorted(apps(by_name))
    assert apps(worst)[0] == "loan-assistant"
    assert 'aria-sort="ascending"><a href="/?sort=faithfulness&amp;window=6h">' in worst
    assert 'href="/?window=24h&amp;sort=faithfulness"' in worst.replace("&amp;app=", "")
    assert "Cannot be applied: <code>sort=&lt;b&gt;</code>" in wrong


async def test_the_stages_at_fault_of_both_releases_stand_side_by_side(services: Services) -> None:
    where = {"app": "loan-assistant", "a": "2.0.3", "b": "2.1.0"}
    where |= {"from": "2026-01-05T06:00", "to": "2026-01-05T12:00"}
    async with open_client(services, headers=HTML) as client:
        english = (await client.get("/compare", params=where)).text
        language = {"Accept-Language": "zh"}
        chinese = (await client.get("/compare", params=where, headers=language)).text

    (panel,) = [part for part in english.split("<section") if "At fault, by stage" in part]
    assert "Generation" in panel
    assert panel.index(">5.0%<") < panel.index(">30%<")
    assert "Retrieval" not in panel
    assert "故障环节" in chinese


def test_more_complaints_are_worse_and_more_turns_are_neither() -> None:
    source = Counted(
        complaint_rate={True: (0.3, 0.25, 0.35), False: (0.1, 0.06, 0.14)},
        resolved_rate={True: (0.9, 0.85, 0.94), False: (0.6, 0.5, 0.7)},
        session_turns={True: (6.0, 5.5, 6.5), False: (3.0, 2.8, 3.2)},
    )
    found = {row.metric: row.verdict for row in changes.of_sessions(source, B, A)}

    assert found == {"complaint_rate": "worse", "resolved_rate": "better", "session_turns": "other"}


async def test_sessions_of_releases_are_compared_and_lead_to_their_sessions(
    services: Services,
) -> None:
    class Unresolved(FakeEstimates):
        def estimate(
            self, series: Series, window: Window, *, min_judged: int | None = None
        ) -> Estimate:
            found = super().estimate(series, window)
            newer = series.release == "2.1.0"
            if series.metric == "session_turns":
                value = 5.0 if newer else 2.5
                return replace(found, value=value, lower=value - 0.2, upper=value + 0.2, judged=90)
            if series.metric == "resolved_rate":
                value = 0.3 if newer else 0.8
                return replace(found, value=value, lower=value - 0.1, upper=value + 0.1, judged=90)
            return found

    where = {"app": "loan-assistant", "window": "6h"}
    shown = replace(services, estimates=Unresolved(services.clock))
    async with open_client(shown, headers=HTML) as client:
        text = (await client.get("/compare", params=where)).text
        table = (await client.get("/compare.csv", params=where)).text

    (link,) = re.findall(r'href="/sessions\?([^"]+)"', text)
    assert parse_qs(link.replace("&amp;", "&")) == {
        "app": ["loan-assistant"],
        "release": ["2.1.0"],
        "since": ["6h"],
        "resolved": ["false"],
    }
    assert "more turns" in text
    rows = {row["metric"]: row for row in csv.DictReader(io.StringIO(table.removeprefix("\ufeff")))}
    assert (rows["resolved_rate"]["verdict"], rows["session_turns"]["b_value"]) == ("worse", "5.0")
