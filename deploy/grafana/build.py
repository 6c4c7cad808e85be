"""Writes the Grafana dashboards. Edit this file, run it, commit the JSON.

`python deploy/grafana/build.py [--public-url URL]`; the URL is where people reach rag-monitor, for
the links to its pages (also a text box on every dashboard). A test keeps files and code equal, and
another runs every query against a real Prometheus.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from links import ALERTS, TRACES, WORST, WORST_OF_APP  # noqa: E402
from panels import Panel, Query, address, choice, lay_out, source  # noqa: E402

PUBLIC_URL: Final = "http://localhost:8700"
FOLDER: Final = HERE / "dashboards"

_OF: Final = 'app=~"$app"'
_OF_RELEASE: Final = 'app=~"$app",release=~"$release"'
_COMBINED: Final = f'{_OF_RELEASE},judge="combined"'
_WHOLE: Final = f'{_OF},judge="combined"'
"""An app over all its releases: a mean of their means would weigh six traces of a canary as much as
four hundred of the release before it."""
_AT_FAULT: Final = f'{_OF},fault!="none"'
_SHARE_AT_FAULT: Final = ((None, "green"), (0.05, "orange"), (0.15, "red"))
_QUALITY: Final = ((None, "red"), (0.5, "orange"), (0.8, "green"))
_BAD_IF_ANY: Final = ((None, "green"), (1, "red"))

_WITH_EXEMPLARS: Final = ("first_byte", "end_to_end")


def _score(metric: str, title: str, width: int = 12) -> Panel:
    """One metric with its interval, by app and release."""
    chosen = f'{{{_COMBINED},metric="{metric}"}}'
    name = "{{app}} {{release}}"
    return Panel(
        title=title,
        description="The combined estimate of the last hour with its 95 % interval (thin lines).",
        unit="percentunit",
        low=0,
        high=1,
        width=width,
        links=[WORST],
        queries=[
            Query(expr=f"rag_monitor_score{chosen}", legend=name),
            Query(expr=f"rag_monitor_score_lower{chosen}", legend=f"{name} lower"),
            Query(expr=f"rag_monitor_score_upper{chosen}", legend=f"{name} upper"),
        ],
        overrides=[
            {
                "matcher": {"id": "byRegexp", "options": ".* (lower|upper)$"},
                "properties": [
                    {"id": "custom.lineWidth", "value": 1},
                    {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [4, 4]}},
                    {"id": "custom.hideFrom", "value": {"legend": True, "viz": False}},
                ],
            }
        ],
    )


def quality() -> list[Panel]:
    """What answers are worth."""
    return [
        Panel(
            title="Quality now",
            kind="bargauge",
            description="Every metric's combined estimate of the last hour.",
            unit="percentunit",
            low=0,
            high=1,
            colours=_QUALITY,
            links=[WORST_OF_APP],
            queries=[
                Query(
                    expr=f"avg by (app, metric) (rag_monitor_app_score{{{_WHOLE}}})",
                    legend="{{app}} {{metric}}",
                    instant=True,
                )
            ],
        ),
        Panel(
            title="Scored traces behind the estimates",
            description="Few samples make wide intervals.",
            queries=[
                Query(
                    expr=f"max by (app, metric) (rag_monitor_app_score_samples{{{_WHOLE}}})",
                    legend="{{app}} {{metric}}",
                )
            ],
        ),
        _score("faithfulness", "Faithfulness"),
        _score("answer_supported", "Answers wholly supported"),
        _score("answer_relevance", "Answer relevance"),
        _score("refusal_rate", "Refusals"),
        _score("citation_recall", "Statements that what they cite supports"),
        _score("citation_validity", "Citations of passages that exist"),
        Panel(
            title="Faults now",
            kind="bargauge",
            description="Share of traces with each fault, of the last hour.",
            unit="percentunit",
            low=0,
            high=1,
            colours=_SHARE_AT_FAULT,
            links=[TRACES],
            queries=[
                Query(
                    expr=f"avg by (app, fault) (rag_monitor_app_fault_ratio{{{_AT_FAULT}}})",
                    legend="{{app}} {{fault}}",
                    instant=True,
                )
            ],
        ),
        Panel(
            title="Faults over time",
            description="Share of traces with each fault, of all releases together.",
            unit="percentunit",
            low=0,
            links=[TRACES],
            queries=[
                Query(
                    expr=f"avg by (app, fault) (rag_monitor_app_fault_ratio{{{_AT_FAULT}}})",
                    legend="{{app}} {{fault}}",
                )
            ],
        ),
        Panel(
            title="Change of faithfulness by release",
            description="Difference to the app as a whole: a release that stands out.",
            unit="percentunit",
            width=24,
            links=[WORST],
            queries=[
                Query(
                    expr=f'rag_monitor_score{{{_COMBINED},metric="faithfulness"}} - on (app)'
                    f" group_left () avg by (app)"
                    f' (rag_monitor_app_score{{{_WHOLE},metric="faithfulness"}})',
                    legend="{{app}} {{release}}",
                )
            ],
        ),
    ]


def retrieval() -> list[Panel]:
    """Whether the right passages are found and used."""
    knowledge = f'{{{_OF},kind="knowledge_base"}}'
    return [
        _score("context_relevance", "Context relevance"),
        _score("context_precision", "Context precision"),
        _score("context_utilization", "Context utilization"),
        Panel(
            title="Knowledge bases that answered",
            description="Share of traces with a successful, non-empty hit.",
            unit="percentunit",
            low=0,
            high=1,
            links=[TRACES],
            queries=[
                Query(
                    expr=f"rag_monitor_hit_ratio{knowledge}", legend="{{app}} {{name}} ({{basis}})"
                )
            ],
        ),
    ]


def routing() -> list[Panel]:
    """Whether plugins, knowledge bases and workflows are still hit."""
    panels = [
        Panel(
            title=f"{words}: share of all traces",
            description="Traces with at least one successful, non-empty hit over all traces.",
            unit="percentunit",
            low=0,
            high=1,
            links=[TRACES],
            queries=[
                Query(
                    expr=f'rag_monitor_hit_ratio{{{_OF},kind="{kind}",basis="all"}}',
                    legend="{{app}} {{name}}",
                )
            ],
        )
        for kind, words in (
            ("plugin", "Plugins"),
            ("knowledge_base", "Knowledge bases"),
            ("workflow", "Workflows"),
        )
    ]
    expected = Panel(
        title="Hits where they were expected",
        description="Recall among the traces whose label says what should have been hit.",
        kind="bargauge",
        unit="percentunit",
        low=0,
        high=1,
        colours=_QUALITY,
        links=[TRACES],
        queries=[
            Query(
                expr=f'rag_monitor_hit_ratio{{{_OF},basis="expected"}}',
                legend="{{app}} {{kind}} {{name}}",
                instant=True,
            )
        ],
    )
    return [*panels, expected]


def latency() -> list[Panel]:
    """How long users wait. The histograms are windows of an hour, so without rate()."""
    panels = []
    for name, words in (
        ("first_byte", "First byte"),
        ("generation", "Generation"),
        ("end_to_end", "End to end"),
    ):
        buckets = f"rag_monitor_{name}_seconds_bucket{{{_OF_RELEASE}}}"
        panels.append(
            Panel(
                title=f"{words}: p50, p90, p99",
                description="Of the traces of the last hour, by app.",
                unit="s",
                low=0,
                links=[TRACES],
                queries=[
                    Query(
                        expr=f"histogram_quantile({share}, sum by (app, le) ({buckets}))",
                        legend=f"{{{{app}}}} p{share * 100:g}",
                        exemplars=share == 0.99 and name in _WITH_EXEMPLARS,
                    )
                    for share in (0.5, 0.9, 0.99)
                ],
            )
        )
    whole = f"rag_monitor_end_to_end_seconds_bucket{{{_OF_RELEASE}}}"
    return [
        *panels,
        Panel(
            title="End to end by release: p90",
            unit="s",
            low=0,
            links=[TRACES],
            queries=[
                Query(
                    expr=f"histogram_quantile(0.9, sum by (app, release, le) ({whole}))",
                    legend="{{app}} {{release}}",
                )
            ],
        ),
        Panel(
            title="End to end: distribution",
            kind="heatmap",
            width=24,
            unit="s",
            queries=[Query(expr=f"sum by (le) ({whole})", legend="{{le}}", heatmap=True)],
        ),
    ]


def judges() -> list[Panel]:
    """What judging costs and whether it keeps up."""
    return [
        Panel(
            title="Judgements per second",
            unit="ops",
            queries=[
                Query(
                    expr="sum by (judge, status)"
                    " (rate(rag_monitor_evaluations_total[$__rate_interval]))",
                    legend="{{judge}} {{status}}",
                )
            ],
        ),
        Panel(
            title="Waiting",
            description="Things waiting, by queue; evaluation is shared by all workers.",
            queries=[
                Query(expr="max by (queue) (rag_monitor_queue_depth)", legend="{{queue}}"),
            ],
        ),
        Panel(
            title="Time of a judgement: p50 and p99",
            unit="s",
            queries=[
                Query(
                    expr=f"histogram_quantile({share}, sum by (judge, le)"
                    " (rate(rag_monitor_judge_seconds_bucket[$__rate_interval])))",
                    legend=f"{{{{judge}}}} p{share * 100:g}",
                )
                for share in (0.5, 0.99)
            ],
        ),
        Panel(
            title="Judge seconds per second",
            description="How many judgements are in progress on average.",
            queries=[
                Query(
                    expr="sum by (judge) (rate(rag_monitor_judge_seconds_sum[$__rate_interval]))",
                    legend="{{judge}}",
                )
            ],
        ),
        Panel(
            title="Tokens per minute",
            description="0 for judges that use none.",
            queries=[
                Query(
                    expr="sum by (judge, direction)"
                    " (60 * rate(rag_monitor_judge_tokens_total[$__rate_interval])) or vector(0)",
                    legend="{{judge}} {{direction}}",
                )
            ],
        ),
        Panel(
            title="Spans received per second",
            unit="ops",
            queries=[
                Query(
                    expr="sum by (encoding)"
                    " (rate(rag_monitor_ingested_spans_total[$__rate_interval])) or vector(0)",
                    legend="{{encoding}}",
                )
            ],
        ),
        Panel(
            title="Dropped in the last hour",
            description="Things that were not processed, by stage and reason; 0 is what you want.",
            colours=_BAD_IF_ANY,
            kind="stat",
            queries=[
                Query(
                    expr="sum by (stage, reason) (increase(rag_monitor_dropped_total[1h]))"
                    " or vector(0)",
                    legend="{{stage}} {{reason}}",
                    instant=True,
                )
            ],
        ),
        Panel(
            title="Job time: p99",
            unit="s",
            queries=[
                Query(
                    expr="histogram_quantile(0.99, sum by (job, le)"
                    " (rate(rag_monitor_job_seconds_bucket[$__rate_interval])))",
                    legend="{{job}}",
                )
            ],
        ),
    ]


def alerts() -> list[Panel]:
    """What is wrong right now, and whether the alert path itself works."""
    return [
        Panel(
            title="Firing",
            kind="stat",
            width=6,
            colours=_BAD_IF_ANY,
            links=[ALERTS],
            queries=[
                Query(
                    expr=f'sum(rag_monitor_alerts{{{_OF},state="firing"}}) or vector(0)',
                    legend="firing",
                    instant=True,
                )
            ],
        ),
        Panel(
            title="Pending",
            kind="stat",
            width=6,
            links=[ALERTS],
            queries=[
                Query(
                    expr=f'sum(rag_monitor_alerts{{{_OF},state="pending"}}) or vector(0)',
                    legend="pending",
                    instant=True,
                )
            ],
        ),
        Panel(
            title="Database readable",
            kind="stat",
            width=6,
            colours=((None, "red"), (1, "green")),
            queries=[Query(expr="min(rag_monitor_store_up)", legend="up", instant=True)],
        ),
        Panel(
            title="Traces per minute",
            kind="stat",
            width=6,
            links=[TRACES],
            queries=[
                Query(
                    expr=f"sum by (app) (60 * rate(rag_monitor_traces_total{{{_OF}}}[5m]))",
                    legend="{{app}}",
                    instant=True,
                )
            ],
        ),
        Panel(
            title="Alerts by rule",
            description="1 while an alert is pending, firing or has just resolved.",
            links=[ALERTS],
            queries=[
                Query(
                    expr=f"sum by (app, rule, state) (rag_monitor_alerts{{{_OF}}}) or vector(0)",
                    legend="{{app}} {{rule}} {{state}}",
                )
            ],
        ),
        Panel(
            title="Notifications in the last hour",
            queries=[
                Query(
                    expr="sum by (channel, outcome) (increase(rag_monitor_notifications_total[1h]))"
                    " or vector(0)",
                    legend="{{channel}} {{outcome}}",
                )
            ],
        ),
        Panel(
            title="Failed runs of jobs in the last hour",
            queries=[
                Query(
                    expr="sum by (job) (increase(rag_monitor_job_failures_total[1h])) or vector(0)",
                    legend="{{job}}",
                )
            ],
        ),
        Panel(
            title="How requests ended",
            unit="ops",
            links=[TRACES],
            queries=[
                Query(
                    expr=f"sum by (app, status) (rate(rag_monitor_traces_total{{{_OF}}}[5m]))",
                    legend="{{app}} {{status}}",
                )
            ],
        ),
    ]


DASHBOARDS: Final[dict[str, tuple[str, Callable[[], Sequence[Panel]]]]] = {
    "rag-monitor-quality": ("RAG quality", quality),
    "rag-monitor-retrieval": ("RAG retrieval", retrieval),
    "rag-monitor-routing": ("RAG routing and hit rates", routing),
    "rag-monitor-latency": ("RAG latency", latency),
    "rag-monitor-judges": ("RAG judges: cost and health", judges),
    "rag-monitor-alerts": ("RAG alerts", alerts),
}


def dashboard(uid: str, public_url: str = PUBLIC_URL) -> dict[str, Any]:
    """The JSON of one dashboard."""
    title, panels = DASHBOARDS[uid]
    return {
        "uid": uid,
        "title": title,
        "tags": ["rag-monitor"],
        "schemaVersion": 41,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "templating": {
            "list": [
                source(),
                choice("app", "App", "label_values(rag_monitor_traces_total, app)"),
                choice(
                    "release",
                    "Release",
                    'label_values(rag_monitor_score{app=~"$app"}, release)',
                ),
                address(public_url),
            ]
        },
        "links": [
            {
                "title": "Dashboards",
                "type": "dashboards",
                "tags": ["rag-monitor"],
                "asDropdown": True,
                "keepTime": True,
                "includeVars": True,
            },
            {"title": "rag-monitor", "type": "link", "url": "${monitor}/", "targetBlank": True},
        ],
        "panels": lay_out(panels()),
    }


def main() -> None:
    """Write all dashboards."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--public-url", default=PUBLIC_URL, help="where people reach rag-monitor")
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder to write into")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    for uid in DASHBOARDS:
        text = json.dumps(dashboard(uid, given.public_url.rstrip("/")), indent=2) + "\n"
        (given.output / f"{uid}.json").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
