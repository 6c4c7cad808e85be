"""Panels and variables of Grafana dashboards, as the JSON Grafana reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

DATASOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
WIDTH: Final = 24
"""Columns of Grafana's grid."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One PromQL expression and the legend of its series."""

    expr: str
    legend: str = "__auto"
    instant: bool = False
    heatmap: bool = False
    """Series are cumulative buckets."""
    exemplars: bool = False
    """Also show the traces that stand for buckets; a click opens their page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel; its place is worked out by `lay_out`."""

    title: str
    queries: Sequence[Query]
    kind: str = "timeseries"
    description: str = ""
    unit: str = "none"
    width: int = 12
    height: int = 8
    low: float | None = None
    high: float | None = None
    colours: Sequence[tuple[float | None, str]] = ()
    """Thresholds, lowest first, beginning with None."""
    overrides: Sequence[Json] = ()
    links: Sequence[Json] = ()
    options: Json = field(default_factory=dict)

    def as_json(self, number: int, x: int, y: int) -> Json:
        """Grafana's object, at column `x` and row `y`."""
        defaults: Json = {"unit": self.unit, "links": list(self.links)}
        if self.low is not None:
            defaults["min"] = self.low
        if self.high is not None:
            defaults["max"] = self.high
        if self.colours:
            steps = [{"value": value, "color": colour} for value, colour in self.colours]
            defaults["thresholds"] = {"mode": "absolute", "steps": steps}
            defaults["color"] = {"mode": "thresholds"}
        if self.kind == "timeseries":
            defaults["custom"] = {"lineWidth": 2, "showPoints": "never", "spanNulls": 300_000}
        return {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.description,
            "datasource": DATASOURCE,
            "gridPos": {"x": x, "y": y, "w": self.width, "h": self.height},
            "fieldConfig": {"defaults": defaults, "overrides": list(self.overrides)},
            "options": {**_OPTIONS.get(self.kind, {}), **self.options},
            "targets": [
                {
                    "refId": chr(ord("A") + index),
                    "datasource": DATASOURCE,
                    "expr": query.expr,
                    "legendFormat": query.legend,
                    "instant": query.instant,
                    "range": not query.instant,
                    "format": "heatmap" if query.heatmap else "time_series",
                    **({"exemplar": True} if query.exemplars else {}),
                }
                for index, query in enumerate(self.queries)
            ],
        }


_OPTIONS: Final[dict[str, Json]] = {
    "timeseries": {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    "stat": {"reduceOptions": {"calcs": ["lastNotNull"]}, "graphMode": "area"},
    "bargauge": {"reduceOptions": {"calcs": ["lastNotNull"]}, "orientation": "horizontal"},
    "heatmap": {
        "calculate": False,
        "yAxis": {"unit": "s"},
        "color": {"mode": "scheme", "scheme": "Blues", "steps": 32},
    },
}


def lay_out(panels: Sequence[Panel]) -> list[Json]:
    """Panels in rows, from left to right; a panel that does not fit begins the next row."""
    placed: list[Json] = []
    x = y = row = 0
    for number, panel in enumerate(panels, 1):
        if x + panel.width > WIDTH:
            x, y, row = 0, y + row, 0
        placed.append(panel.as_json(number, x, y))
        x += panel.width
        row = max(row, panel.height)
    return placed


def choice(name: str, label: str, query: str, *, everything: bool = True) -> Json:
    """A variable whose values are those of a label in Prometheus."""
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": query, "refId": f"Variable-{name}"},
        "definition": query,
        "refresh": 2,
        "sort": 1,
        "multi": everything,
        "includeAll": everything,
        "allValue": ".*" if everything else None,
        "current": {"text": "All", "value": "$__all"} if everything else {},
    }


def source() -> Json:
    """The variable that names the data source."""
    return {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "current": {"text": "Prometheus", "value": "rag-monitor-prometheus"},
    }


def address(url: str) -> Json:
    """The variable that holds where people reach rag-monitor, for links."""
    return {
        "name": "monitor",
        "label": "rag-monitor",
        "type": "textbox",
        "query": url,
        "current": {"text": url, "value": url},
    }
