"""Random requests to every endpoint that takes filters, held against what they should answer."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import httpx

from rag_monitor.domain.alert import Alert
from rag_monitor.domain.fault import FAULT_METRICS
from rag_monitor.domain.score import ScoreStatus
from rag_monitor.domain.trace import TraceStatus
from tests.integration.filters import expected
from tests.integration.filters.expected import chosen, same
from tests.integration.filters.history import APPS, BASES, JUDGES, METRICS, USERS, History

NAMED = ("v1", "v2", "v3")
FIGURES = ("value", "traces", "judged", "failed", "suspect", "rests_on")


class DifferenceError(AssertionError):
    """An answer that does not fit its request."""


class Requests:
    """Asks a server about a history."""

    def __init__(
        self, client: httpx.AsyncClient, history: History, alerts: list[Alert], seed: int
    ) -> None:
        self.client = client
        self.history = history
        self.alerts = alerts
        self.chance = random.Random(seed)
        self.made = 0

    async def one(self) -> None:
        """A random request; raises `DifferenceError`."""
        ask: Callable[[], Any] = self.chance.choice(
            (
                self.summary, self.summary, self.summary, self.series, self.series, self.compare,
                self.faults, self.faults, self.traces, self.traces, self.labels, self.list_alerts,
                self.evaluations, self.refused,
            )
        )  # fmt: skip
        self.made += 1
        await ask()

    async def summary(self) -> None:
        """Every app, or one."""
        query = self._maybe(app=APPS, release=NAMED) | self._window()
        app, release = query.get("app"), query.get("release")
        response = await self.client.get("/api/v1/summary", params=query)
        if app is not None and all(one.trace.app != app for one in self.history.known.values()):
            self._check(query, "status", response.status_code, 404)
            return
        answer = self._ok(query, response)
        start, end = _moment(answer["start"]), _moment(answer["end"])
        self._whole(query, start, end)
        for told in answer["apps"]:
            mine = chosen(self.history.known.values(), app=told["app"], release=release)
            among = chosen(mine, start=start, end=end)
            for part, wanted in expected.app_numbers(among).items():
                self._check(query, f"{told['app']}.{part}", _READ[part](told[part]), wanted)
            self._check_state(query, told, mine, end, release)
        shown = {told["app"] for told in answer["apps"]}
        missing = {
            one.trace.app
            for one in chosen(self.history.known.values(), app=app, start=start, end=end)
        } - shown
        self._check(query, "apps left out", missing, set())

    def _check_state(
        self, query: Any, told: Any, mine: Any, end: datetime, release: str | None
    ) -> None:
        firing = sum(one.app == told["app"] and one.fires_at(end) for one in self.alerts)
        self._check(query, "open_alerts", told["open_alerts"], None if release else firing)
        seen = [one.trace.started_at for one in mine if one.trace.started_at < end]
        if kept := [
            o.trace.started_at for o in mine if not o.forgotten and o.trace.started_at < end
        ]:
            self._check(query, "last_seen", _moment(told["last_seen"]), max(kept))
        elif seen:  # of what is forgotten the minute is all that is known
            minute = max(seen).replace(second=0, microsecond=0)
            self._check(query, "last_seen", _moment(told["last_seen"]), minute)
        else:
            self._check(query, "last_seen", told["last_seen"], None)

    async def series(self) -> None:
        """A metric over time."""
        if not (app := self._known_app()):
            return
        judges = (*map(str, JUDGES), "combined")
        query = {"app": app, "metric": self.chance.choice(METRICS)} | self._window()
        query |= self._maybe(release=NAMED, knowledge_base=BASES, judge=judges)
        query["step"] = self.chance.choice(("1h", "7h", "24h", "3d"))
        answer = self._ok(query, await self.client.get("/api/v1/series", params=query))
        reached = None
        for point in answer["points"]:
            start, end = _moment(point["start"]), _moment(point["end"])
            self._check(query, "points without gaps", start, reached or start)
            reached = end
            among = chosen(
                self.history.known.values(), app=app, start=start, end=end,
                release=query.get("release"), knowledge_base=query.get("knowledge_base"),
            )  # fmt: skip
            wanted = expected.figures(query["metric"], among, query.get("judge", "combined"))
            found = {name: point[name] for name in FIGURES}
            self._check(query, f"point {start}", found, wanted)

    async def faults(self) -> None:
        """What was at fault in every app, or in one."""
        query = self._maybe(app=APPS, release=NAMED, knowledge_base=BASES) | self._window()
        response = await self.client.get("/api/v1/faults", params=query)
        app = query.get("app")
        if app is not None and all(one.trace.app != app for one in self.history.known.values()):
            self._check(query, "status", response.status_code, 404)
            return
        answer = self._ok(query, response)
        start, end = _moment(answer["start"]), _moment(answer["end"])
        self._whole(query, start, end)
        told_of = {told["app"]: told["faults"] for told in answer["apps"]}
        for name in {one.trace.app for one in self.history.known.values()}:
            if app not in {None, name}:
                self._check(query, "app that was not asked for", name in told_of, False)
                continue
            among = chosen(
                self.history.known.values(), app=name, start=start, end=end,
                release=query.get("release"), knowledge_base=query.get("knowledge_base"),
            )  # fmt: skip
            found = {
                one["fault"]: {part: one[part] for part in FIGURES} for one in told_of.get(name, ())
            }
            self._check(query, f"{name}.faults", found, expected.faults(among))

    async def compare(self) -> None:
        """Two releases."""
        if not (app := self._known_app()):
            return
        query = {"app": app, "release": "v1", "against": "v2"} | self._window()
        response = await self.client.get("/api/v1/releases/compare", params=query)
        if response.status_code == 422 and "there is no release" in response.text:
            return  # one of them sent nothing
        answer = self._ok(query, response)
        for change in answer["changes"]:
            for side, release in (("first", "v1"), ("second", "v2")):
                told = change[side]
                among = chosen(
                    self.history.known.values(), app=app, release=release,
                    start=_moment(told["start"]), end=_moment(told["end"]),
                )  # fmt: skip
                judge = told["judge"]
                fault = FAULT_METRICS.get(change["metric"])
                wanted = (
                    expected.figures(change["metric"], among, judge)
                    if fault is None
                    else expected.of_fault(fault, among, judge)
                )
                found = {name: told[name] for name in FIGURES}
                self._check(query, f"{change['metric']} {side}", found, wanted)

    async def traces(self) -> None:
        """A list, page by page."""
        query = self._maybe(
            app=APPS, release=NAMED, user_id=[u for u in USERS if u], metric=METRICS,
            status=tuple(TraceStatus), q=("apple", "question 1"),
        )  # fmt: skip
        if "metric" in query and self.chance.random() < 0.7:
            query["below"] = str(round(self.chance.random(), 2))
        window = self._window()
        query |= {name: value for name, value in window.items() if name != "window"}
        limit = self.chance.choice((3, 50))
        found: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            asked = query | {"limit": str(limit)} | cursor
            answer = self._ok(query, await self.client.get("/api/v1/traces", params=asked))
            found += [item["trace_id"] for item in answer["items"]]
            if not answer["next_cursor"]:
                break
            cursor = {"cursor": answer["next_cursor"]}
        wanted = [one for one in self.history.kept if self._listed(one.trace, one.scores, query)]
        order = sorted(wanted, key=lambda o: (o.trace.started_at, o.trace.trace_id), reverse=True)
        self._check(query, "ids", found, [one.trace.trace_id for one in order])

    def _listed(self, trace: Any, scores: Any, query: dict[str, str]) -> bool:
        begins, ends = query.get("from"), query.get("to")
        mine = [score for score in scores if score.metric == query.get("metric")]
        if "below" in query:
            mine = [s for s in mine if s.value is not None and s.value < float(query["below"])]
        return (
            query.get("app") in {None, trace.app}
            and query.get("release") in {None, trace.release}
            and query.get("user_id") in {None, trace.user_id}
            and query.get("status") in {None, trace.status.value}
            and query.get("q", "") in trace.question
            and (begins is None or trace.started_at >= _moment(begins))
            and (ends is None or trace.started_at < _moment(ends))
            and ("metric" not in query or bool(mine))
        )

    async def labels(self) -> None:
        """What waits for people."""
        query = self._maybe(app=APPS) | {"window": self.chance.choice(("1h", "1d", "7d"))}
        answer = self._ok(
            query, await self.client.get("/api/v1/labels/waiting", params=query | {"limit": "200"})
        )
        hours = {"1h": 1, "1d": 24, "7d": 168}[query["window"]]
        since = self.history.clock.now() - timedelta(hours=hours)
        wanted = set()
        for one in chosen(self.history.kept, app=query.get("app"), start=since):
            mine = [
                score
                for score in one.scores
                if score.metric == "answer_supported" and score.status is ScoreStatus.SCORED
            ]
            doubt = any(0.25 < (score.value or 0.0) < 0.75 for score in mine)
            if doubt or len({score.flagged for score in mine}) > 1:
                wanted.add(one.trace.trace_id)
        found = {item["trace"]["trace_id"] for item in answer["items"]}
        self._check(query, "ids", found, wanted)

    async def list_alerts(self) -> None:
        """Alerts of a state, of an app."""
        query = self._maybe(app=APPS, state=("firing", "resolved"))
        answer = self._ok(query, await self.client.get("/api/v1/alerts", params=query))
        wanted = {
            alert.id
            for alert in self.alerts
            if query.get("app") in {None, alert.app} and query.get("state") in {None, alert.state}
        }
        self._check(query, "ids", {alert["id"] for alert in answer["alerts"]}, wanted)

    async def evaluations(self) -> None:
        """How many traces would be judged again."""
        window = self._window()
        query = self._maybe(app=APPS, release=NAMED)
        query |= {name: value for name, value in window.items() if name != "window"}
        query.setdefault("from", (self.history.clock.now() - timedelta(days=9)).isoformat())
        answer = self._ok(query, await self.client.post("/api/v1/evaluations", json=query))
        end = query.get("to")
        among = chosen(
            self.history.kept,
            app=query.get("app"),
            release=query.get("release"),
            start=_moment(query["from"]),
            end=_moment(end) if end else self.history.clock.now(),
        )
        self._check(query, "traces", answer["traces"], len(among))

    async def refused(self) -> None:
        """What cannot be applied is refused, and named."""
        path, extra = self.chance.choice(
            (
                ("summary", "knowledge_base"), ("summary", "environment"),
                ("series?app=shop&metric=faithfulness", "environment"),
                ("faults", "environment"),
                ("releases/compare?app=shop&release=v1&against=v2", "environment"),
                ("releases/compare?app=shop&release=v1&against=v2", "knowledge_base"),
                ("labels/waiting", "release"), ("labels/waiting", "environment"),
                ("alerts", "release"), ("alerts", "knowledge_base"), ("alerts", "window"),
            )
        )  # fmt: skip
        sign = "&" if "?" in path else "?"
        response = await self.client.get(f"/api/v1/{path}{sign}{extra}=1h")
        self._check((path, extra), "status", response.status_code, 422)
        told = response.json()["detail"].startswith(f"`{extra}`: ")
        self._check((path, extra), "detail", told, True)

    def _known_app(self) -> str | None:
        apps = sorted({one.trace.app for one in self.history.kept})
        return self.chance.choice(apps) if apps else None

    def _maybe(self, **choices: Any) -> dict[str, str]:
        return {
            name: self.chance.choice(values)
            for name, values in choices.items()
            if self.chance.random() < 0.5
        }

    def _window(self) -> dict[str, str]:
        """A length, or ends in any zone, at any second."""
        now, chance = self.history.clock.now(), self.chance
        if chance.random() < 0.3:
            return {"window": chance.choice(("1h", "6h", "24h", "7d"))}
        begins = now - timedelta(seconds=chance.uniform(100, 9 * 86_400))
        found = {"from": _written(begins, chance)}
        if chance.random() < 0.7:
            length = (now - begins) * chance.uniform(0.1, 1.0)
            found["to"] = _written(begins + max(length, timedelta(seconds=90)), chance)
        return found

    def _whole(self, query: dict[str, str], start: datetime, end: datetime) -> None:
        """What the answer says it counts is what was asked for, in whole minutes."""
        for name, told in (("from", start), ("to", end)):
            if name in query:
                off = told - _moment(query[name])
                near = timedelta(0) <= off < timedelta(minutes=1)
                self._check(query, f"{name} {off}", near, True)
            self._check(query, name, told.second + told.microsecond, 0)

    def _ok(self, query: Any, response: httpx.Response) -> Any:
        if response.status_code != 200:
            raise DifferenceError(f"{query}: {response.status_code} {response.text}")
        return response.json()

    def _check(self, query: Any, what: str, found: Any, wanted: Any) -> None:
        if not same(found, wanted):
            raise DifferenceError(f"{query}\n{what}\nfound:  {found}\nwanted: {wanted}")


def _metrics(told: Any) -> dict[str, Any]:
    return {one["metric"]: {name: one[name] for name in FIGURES} for one in told}


_READ: dict[str, Callable[[Any], Any]] = {
    "traces": lambda told: {status: count for status, count in told.items() if count},
    "judges": lambda told: {one["judge"]: (one["judged"], one["share"]) for one in told},
    "metrics": _metrics,
    "latency": lambda told: {
        one["metric"]: {name: one[name] for name in ("count", "mean", "p50", "p90", "p99")}
        for one in told
    },
    "hit_rates": lambda told: {
        (one["kind"], one["name"], one["basis"]): (one["value"], one["traces"]) for one in told
    },
    "routing": lambda told: {
        (one["kind"], one["name"]): (one["tp"], one["fp"], one["tn"], one["fn"]) for one in told
    },
    "knowledge_bases": lambda told: {one["name"]: _metrics(one["metrics"]) for one in told},
}
"""Parts of an app in the summary, as `expected.app_numbers` has them."""


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _written(moment: datetime, chance: random.Random) -> str:
    zone = timezone(timedelta(minutes=chance.choice((0, 0, 480, 330, -570))))
    exact = chance.choice((moment, moment.replace(second=0, microsecond=0)))
    return exact.astimezone(zone).isoformat()
