"""What the story asks of a running monitor, through its public HTTP interface only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any, Final

import httpx

from rag_monitor.demo.processes import StoryError

_WINDOW_S: Final = 600
_MIN_JUDGED: Final = 20

Rule = dict[str, Any]


def with_demo_rules(existing: Sequence[Mapping[str, Any]], watched: Sequence[str]) -> list[Rule]:
    """All rules, one for drops of each watched metric comparing a release with the one before.

    The shipped one that does so keeps everything but its pace; where there is none for a metric,
    another drop rule is made one, or one is written.
    """
    chosen = {metric: _best(existing, metric) for metric in watched}
    rules = [_tuned(rule) if rule in chosen.values() else dict(rule) for rule in existing]
    missing = [metric for metric, rule in chosen.items() if rule is None]
    return rules + [_tuned(_fresh(metric)) for metric in missing]


def watched_rules(rules: Sequence[Mapping[str, Any]], watched: Sequence[str]) -> dict[str, str]:
    """Metric to the name of its rule, for the watched metrics, in their order."""
    best = {metric: _best(rules, metric) for metric in watched}
    return {metric: str(rule["name"]) for metric, rule in best.items() if rule is not None}


def _best(rules: Sequence[Mapping[str, Any]], metric: str) -> Mapping[str, Any] | None:
    """The rule for drops of a metric: one that compares releases, if there is one."""
    drops = [rule for rule in rules if rule["kind"] == "drop" and rule.get("metric") == metric]
    return max(drops, key=_compares_releases, default=None)


def _compares_releases(rule: Mapping[str, Any]) -> bool:
    return (rule.get("params") or {}).get("baseline") == "previous_release"


def _fresh(metric: str) -> Rule:
    return {"name": f"{metric} drop", "app": "*", "kind": "drop", "metric": metric}


def _tuned(rule: Mapping[str, Any]) -> Rule:
    return dict(rule) | {
        "window_s": _WINDOW_S,
        "min_judged": _MIN_JUDGED,
        "hold_for_s": 0,
        "params": dict(rule.get("params") or {}) | {"baseline": "previous_release"},
    }


Json = dict[str, Any]
_PAGE = 100


@dataclass(slots=True)
class Observed:
    """The traces of one phase of the story, as the monitor shows them."""

    traces: dict[str, Json] = field(default_factory=dict)
    """Trace id to the API's trace, once it has scores."""

    def mean(self, metric: str) -> float | None:
        """Mean of the scored values; None before the first."""
        values = list(self._values(metric))
        return fmean(values) if values else None

    def scored(self) -> int:
        """Traces with at least one number."""
        return sum(
            any(score.get("status") == "scored" for score in trace["scores"])
            for trace in self.traces.values()
        )

    def stages_at_fault(self) -> dict[str, float]:
        """Share of traces that each stage is responsible for, the largest first."""
        first = [faults[0] for trace in self.traces.values() if (faults := trace.get("faults"))]
        stages = Counter(str(fault["stage"]) for fault in first if fault.get("stage"))
        return {stage: count / len(first) for stage, count in stages.most_common()}

    def judges(self) -> list[str]:
        """Names of the judges that answered, sorted."""
        names = {
            _judge_name(score["judge"])
            for trace in self.traces.values()
            for score in trace["scores"]
            if score.get("judge")
        }
        return sorted(names)

    def _values(self, metric: str) -> Iterable[float]:
        for trace in self.traces.values():
            for score in trace["scores"]:
                if score["metric"] == metric and score.get("status") == "scored":
                    yield float(score["value"])


def median_timing(traces: Iterable[Json], name: str) -> float | None:
    """Median milliseconds of one timing over the traces that have it."""
    values = [
        float(value)
        for trace in traces
        if (value := (trace.get("timings") or {}).get(name)) is not None
    ]
    return round(median(values), 2) if values else None


class MonitorApi:
    """Reads and writes through `/api/v1`.

    Args:
        http: A client whose base URL is the monitor's.
        app: The application the story is about.
    """

    def __init__(self, http: httpx.AsyncClient, app: str) -> None:
        self._http = http
        self._app = app

    async def follow(self, seen: Observed, skip: Iterable[str] = ()) -> None:
        """Add to `seen` the traces that got their scores since the last call."""
        passed = set(skip) | set(seen.traces)
        for trace_id in await self._trace_ids():
            if trace_id in passed:
                continue
            trace = await self._get(f"/api/v1/traces/{trace_id}")
            if trace.get("scores"):
                seen.traces[trace_id] = trace

    async def rules(self) -> list[Json]:
        """Every alert rule."""
        rules: list[Json] = (await self._get("/api/v1/rules"))["rules"]
        return rules

    async def save_rules(self, rules: Sequence[Mapping[str, object]]) -> None:
        """Replace the whole set of rules."""
        reply = await self._http.put("/api/v1/rules", json={"rules": list(rules)})
        _check(reply)

    async def alerts(self) -> list[Json]:
        """Every alert of the application, in any state."""
        alerts: list[Json] = (await self._get("/api/v1/alerts"))["alerts"]
        return [alert for alert in alerts if alert["app"] == self._app]

    async def hit_rates(self) -> dict[str, float]:
        """Share of traces by `kind/name/basis`, from `/metrics`."""
        from prometheus_client.parser import text_string_to_metric_families

        reply = await self._http.get("/metrics")
        _check(reply)
        return {
            "/".join(sample.labels[key] for key in ("kind", "name", "basis")): sample.value
            for family in text_string_to_metric_families(reply.text)
            for sample in family.samples
            if sample.name == "rag_monitor_hit_ratio" and sample.labels.get("app") == self._app
        }

    async def _trace_ids(self) -> list[str]:
        ids: list[str] = []
        cursor: str | None = None
        while True:
            query = {"app": self._app, "limit": str(_PAGE)} | ({"cursor": cursor} if cursor else {})
            page = await self._get("/api/v1/traces", query)
            ids.extend(item["trace_id"] for item in page["items"])
            cursor = page.get("next_cursor")
            if not cursor:
                return ids

    async def _get(self, path: str, query: Mapping[str, str] | None = None) -> Json:
        reply = await self._http.get(path, params=query)
        _check(reply)
        body: Json = reply.json()
        return body


def _judge_name(judge: str) -> str:
    """The first part of a judge identity in text form."""
    return judge.partition("/")[0]


def _check(reply: httpx.Response) -> None:
    if not reply.is_success:
        raise StoryError(
            "the monitor answered {status} to {method} {path}: {body}",
            status=reply.status_code,
            method=reply.request.method,
            path=reply.request.url.path,
            body=reply.text[:300],
        )
