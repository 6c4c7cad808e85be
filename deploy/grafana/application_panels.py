"""Panels about the applications: quality, retrieval, routing, latency."""

from __future__ import annotations

from typing import Final

from links import SESSIONS, TRACES, WORST, WORST_OF_APP
from panels import Panel, Query

_OF: Final = 'app=~"$app"'
_OF_RELEASE: Final = 'app=~"$app",release=~"$release"'
_COMBINED: Final = f'{_OF_RELEASE},judge="combined"'
_WHOLE: Final = f'{_OF},judge="combined"'
"""An app over all its releases: a mean of their means would weigh six traces of a canary as much as
four hundred of the release before it."""
_AT_FAULT: Final = f'{_OF},fault!="none"'
_SHARE_AT_FAULT: Final = ((None, "green"), (0.05, "orange"), (0.15, "red"))
_QUALITY: Final = ((None, "red"), (0.5, "orange"), (0.8, "green"))

_WITH_EXEMPLARS: Final = ("first_byte", "end_to_end")


_THIN_ENDS: Final = {
    "matcher": {"id": "byRegexp", "options": ".* (lower|upper)$"},
    "properties": [
        {"id": "custom.lineWidth", "value": 1},
        {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [4, 4]}},
        {"id": "custom.hideFrom", "value": {"legend": True, "viz": False}},
    ],
}
"""The ends of an interval."""


def _with_ends(name: str, chosen: str) -> list[Query]:
    """An estimate and the ends of its interval, by app and release."""
    legend = "{{app}} {{release}}"
    return [
        Query(expr=f"{name}{chosen}", legend=legend),
        Query(expr=f"{name}_lower{chosen}", legend=f"{legend} lower"),
        Query(expr=f"{name}_upper{chosen}", legend=f"{legend} upper"),
    ]


def _score(metric: str, title: str, width: int = 12) -> Panel:
    """One metric with its interval, by app and release."""
    return Panel(
        title=title,
        description="The combined estimate of the last hour with its 95 % interval (thin lines).",
        unit="percentunit",
        low=0,
        high=1,
        width=width,
        links=[WORST],
        queries=_with_ends("rag_monitor_score", f'{{{_COMBINED},metric="{metric}"}}'),
        overrides=[_THIN_ENDS],
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


def _session(metric: str, title: str, unit: str = "percentunit") -> Panel:
    """One metric of sessions with its interval, by app and release."""
    return Panel(
        title=title,
        description="Mean over the sessions that ended in the last hour, with its 95 % interval "
        "(thin lines).",
        unit=unit,
        low=0,
        high=1 if unit == "percentunit" else None,
        links=[SESSIONS],
        queries=_with_ends("rag_monitor_session_estimate", f'{{{_OF_RELEASE},metric="{metric}"}}'),
        overrides=[_THIN_ENDS],
    )


def sessions() -> list[Panel]:
    """What whole conversations came to."""
    shares = f'{{{_OF},metric!="session_turns"}}'
    return [
        Panel(
            title="Sessions now",
            kind="bargauge",
            description="Means over the sessions that ended in the last hour.",
            unit="percentunit",
            low=0,
            high=1,
            links=[SESSIONS],
            queries=[
                Query(
                    expr=f"avg by (app, metric) (rag_monitor_session_app_estimate{shares})",
                    legend="{{app}} {{metric}}",
                    instant=True,
                )
            ],
        ),
        Panel(
            title="Sessions behind the estimates",
            description="Few sessions make wide intervals.",
            links=[SESSIONS],
            queries=[
                Query(
                    expr=f"max by (app) (rag_monitor_session_app_estimate_samples{{{_OF}}})",
                    legend="{{app}}",
                )
            ],
        ),
        _session("resolved_rate", "Resolved"),
        _session("session_faithfulness", "Faithfulness of the worst answer"),
        _session("repeated_question_rate", "Questions asked again"),
        _session("complaint_rate", "Complaints"),
        _session("abandoned_rate", "Abandoned"),
        _session("session_turns", "Turns", unit="none"),
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
