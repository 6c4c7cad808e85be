"""Panels about judging, alerts and the monitor itself."""

from __future__ import annotations

from typing import Final

from links import ALERTS, TRACES
from panels import Panel, Query

_OF: Final = 'app=~"$app"'
_BAD_IF_ANY: Final = ((None, "green"), (1, "red"))


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
