"""The exported rules, run by Prometheus' own tool on series made up for the purpose."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.aggregation.prometheus_labels import app_label
from rag_monitor.alerting.prometheus_export import EVERY_PROJECT, export_rules
from rag_monitor.domain.alert import AlertRule, RuleKind
from tests.unit.alerting.fakes import hourly_rules

PLAYED = 180
"""Minutes of a scene."""


def annotated(summary: str) -> dict[str, str]:
    return {"summary": summary}


def play(
    folder: Path,
    series: Mapping[str, str],
    told: Sequence[tuple[int, str, Sequence[Mapping[str, Any]]]],
    rules: Sequence[AlertRule] = (),
    project: str = EVERY_PROJECT,
) -> None:
    """Hold what fires against what should.

    Args:
        folder: Where the files go.
        series: Values by series, one a minute, as promtool writes them.
        told: Minute, name of the alert, and what it should be like then (none: it must not fire).
        rules: What is exported; the shipped ones when there are none.
        project: Whose rules they are.
    """
    tool = shutil.which("promtool")
    if tool is None:
        pytest.skip("promtool is not installed (Debian package prometheus)")
    file = folder / "rules.yml"
    written = export_rules(list(rules) or hourly_rules(), project=project)
    file.write_text(written, encoding="utf-8")
    scene = {
        "rule_files": [str(file)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": v} for name, v in series.items()],
                "alert_rule_test": [
                    {"eval_time": f"{minute}m", "alertname": name, "exp_alerts": list(alerts)}
                    for minute, name, alerts in told
                ],
            }
        ],
    }
    (folder / "scene.yml").write_text(json.dumps(scene), encoding="utf-8")
    done = subprocess.run(
        [tool, "test", "rules", folder / "scene.yml"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_somebody_is_told_when_no_worker_leads_though_the_rest_is_up(tmp_path: Path) -> None:
    summary = "No worker leads: alert rules are not looked at and messages are not sent."
    alert = {"exp_labels": {"severity": "page"}, "exp_annotations": annotated(summary)}
    play(
        tmp_path,
        {
            'rag_monitor_leads{instance="worker-1"}': f"1x10 _x{PLAYED}",
            'rag_monitor_leads{instance="worker-2"}': f"0x10 1x20 _x{PLAYED}",
            'rag_monitor_leads{instance="api-1"}': f"0x{PLAYED}",
        },
        [(20, "RagMonitorNoLeader", []), (45, "RagMonitorNoLeader", [alert])],
    )


def test_a_message_for_a_channel_that_was_removed_is_missed(tmp_path: Path) -> None:
    """The counter of that channel appears with the loss, so that its increase is none."""
    summary = "Messages were given up; rag-monitor doctor names their channel and the reason."
    alert = {"exp_labels": {"severity": "ticket"}, "exp_annotations": annotated(summary)}
    series = {
        'rag_monitor_queue_depth{queue="undelivered"}': "0x70 1x110",
        'rag_monitor_notifications_total{channel="removed",outcome="dead"}': "_x70 1x110",
    }
    name = "RagMonitorMessagesUndelivered"

    play(tmp_path, series, [(60, name, []), (75, name, [alert]), (150, name, [])])


def test_a_judge_that_does_not_answer_is_told_before_its_scores_fail(tmp_path: Path) -> None:
    summary = "Judge dear does not answer: the traces that were drawn for it wait."
    labels = {"severity": "ticket", "judge": "dear"}
    alert = {"exp_labels": labels, "exp_annotations": annotated(summary)}
    series = {
        'rag_monitor_judge_away{judge="dear",instance="worker-1"}': f"0x20 1x40 0x{PLAYED}",
        'rag_monitor_judge_away{judge="dear",instance="worker-2"}': f"0x{PLAYED}",
    }
    name = "RagMonitorJudgeAway"

    play(tmp_path, series, [(24, name, []), (30, name, [alert]), (70, name, [])])


def test_acknowledged_traces_that_nobody_sees_are_missed(tmp_path: Path) -> None:
    """Of every process that counts them, whichever they are: a worker may be the one that died."""
    summary = (
        "Acknowledged traces wait to be assembled, the oldest for 900 s: no page and no rule sees "
        "them. Do workers run?"
    )
    alert = {"exp_labels": {"severity": "page"}, "exp_annotations": annotated(summary)}
    name, waits = "RagMonitorAssemblyBehind", "rag_monitor_queue_oldest_seconds"
    series = {
        f'{waits}{{queue="assembly",instance="ingest-1"}}': f"0x20 60+60x20 0x{PLAYED}",
        f'{waits}{{queue="assembly",instance="worker-1"}}': f"0x20 _x{PLAYED}",
        f'{waits}{{queue="evaluation",instance="worker-1"}}': f"5000x{PLAYED}",
    }

    play(tmp_path, series, [(20, name, []), (35, name, [alert]), (70, name, [])])


def test_traces_that_were_given_up_are_missed(tmp_path: Path) -> None:
    summary = (
        "3 traces were given up and have no scores; rag-monitor doctor names them and the reason."
    )
    alert = {"exp_labels": {"severity": "ticket"}, "exp_annotations": annotated(summary)}
    name = "RagMonitorTracesParked"
    series = {
        'rag_monitor_queue_depth{queue="parked",instance="worker-1"}': f"0x20 3x40 0x{PLAYED}",
        'rag_monitor_queue_depth{queue="parked",instance="worker-2"}': f"0x20 3x40 0x{PLAYED}",
    }

    play(tmp_path, series, [(20, name, []), (40, name, [alert]), (80, name, [])])


def test_an_app_that_has_just_begun_to_send_has_not_stopped(tmp_path: Path) -> None:
    """Its counter appears with its first traces: by its increase it never sent any."""
    counted = {'rag_monitor_traces_total{app="new",status="ok"}': f"5x{PLAYED}"}

    play(tmp_path, counted, [(30, "RagMonitorNoData", [])])


def test_one_slow_answer_an_hour_ago_and_few_now_are_no_slowdown(tmp_path: Path) -> None:
    """A quantile without its interval would page: three answers then, sixty now."""
    name = "rag_monitor_end_to_end_seconds"
    labels = 'app="a",release="v1"'
    series = {
        f'{name}_bucket{{{labels},le="1.28"}}': "3x70 40x60",
        f'{name}_bucket{{{labels},le="2.56"}}': "3x70 60x60",
        f'{name}_bucket{{{labels},le="+Inf"}}': "3x70 60x60",
        f"{name}_count{{{labels}}}": "3x70 60x60",
    }

    play(tmp_path, series, [(80, "RagMonitorEndToEndLatency", [])])


def test_what_the_monitor_found_is_passed_on_without_a_number_that_is_none(tmp_path: Path) -> None:
    firing = {'rag_monitor_alerts{app="a",rule="hit rate drop",state="firing"}': f"1x{PLAYED}"}
    summary = "hit rate drop: fires for a; rag-monitor's Alerts page has the numbers."
    alert = {
        "exp_labels": {
            "app": "a", "rule": "hit rate drop", "severity": "ticket", "state": "firing",
        },
        "exp_annotations": annotated(summary),
    }  # fmt: skip

    play(tmp_path, firing, [(5, "RagMonitorHitRateDrop", [alert])])


@pytest.mark.parametrize(
    ("params", "lower", "upper", "said"),
    [
        ({"below": 0.8}, 0.68, 0.72, "upper end of its interval at 0.734, below 0.8"),
        ({"above": 0.5}, 0.68, 0.72, "lower end of its interval at 0.666, above 0.5"),
    ],
)
def test_a_threshold_names_the_end_of_the_interval_it_went_by(
    tmp_path: Path, params: dict[str, float | str], lower: float, upper: float, said: str
) -> None:
    labels = {"app": "a", "judge": "combined", "metric": "faithfulness"}
    at = ",".join(f'{name}="{value}"' for name, value in labels.items())
    series = {
        f"rag_monitor_app_score{{{at}}}": f"0.70x{PLAYED}",
        f"rag_monitor_app_score_lower{{{at}}}": f"{lower}x{PLAYED}",
        f"rag_monitor_app_score_upper{{{at}}}": f"{upper}x{PLAYED}",
        f"rag_monitor_app_score_samples{{{at}}}": f"400x{PLAYED}",
    }
    rule = AlertRule(name="promise", kind=RuleKind.THRESHOLD, metric="faithfulness", params=params)
    summary = f"promise: faithfulness of a has the {said}."
    alert = {
        "exp_labels": {**labels, "severity": "page", "rule": "promise"},
        "exp_annotations": annotated(summary),
    }

    play(tmp_path, series, [(10, "RagMonitorPromise", [alert])], [rule])


def test_a_release_that_breaks_an_app_is_a_drop_in_prometheus_too(tmp_path: Path) -> None:
    """The new release has no hour before; the application as a whole has."""
    of_app, judge = 'app="a",metric="faithfulness"', 'judge="combined"'
    of_v1, of_v2 = (f'app="a",release="{name}",metric="faithfulness"' for name in ("v1", "v2"))
    series = {
        f"rag_monitor_score{{{of_v1},{judge}}}": "0.93x70",
        f"rag_monitor_score_samples{{{of_v1},{judge}}}": "400x70",
        f"rag_monitor_score{{{of_v2},{judge}}}": "_x70 0.70x80",
        f"rag_monitor_score_samples{{{of_v2},{judge}}}": "_x70 400x80",
        f"rag_monitor_app_score{{{of_app},{judge}}}": "0.93x70 0.70x80",
        f"rag_monitor_app_score_lower{{{of_app},{judge}}}": "0.90x70 0.66x80",
        f"rag_monitor_app_score_upper{{{of_app},{judge}}}": "0.95x70 0.74x80",
        f"rag_monitor_app_score_samples{{{of_app},{judge}}}": "400x150",
        f'rag_monitor_app_score_samples{{{of_app},judge="embedded/1"}}': "400x150",
    }
    told = "faithfulness drop: faithfulness of a changed by -0.23 against 1h before."
    alert = {
        "exp_labels": {
            "app": "a", "judge": "combined", "metric": "faithfulness", "severity": "page",
            "rule": "faithfulness drop",
        },
        "exp_annotations": annotated(told),
    }  # fmt: skip

    play(tmp_path, series, [(80, "RagMonitorFaithfulnessDrop", [alert])])


def _silent(label: str) -> dict[str, Any]:
    """The alert of a rule that follows what the monitor found, for one application."""
    return {
        "exp_labels": {"app": label, "rule": "silent", "severity": "page", "state": "firing"},
        "exp_annotations": {
            "summary": f"silent: fires for {label}; rag-monitor's Alerts page has the numbers.",
        },
    }


_FAQ = ("faq", "team/faq (v2) 问答", "x" * 150)
_OF_PROJECTS = [(project, app) for project in ("default", "loans", "loans.eu") for app in _FAQ]


@pytest.mark.parametrize(("project", "app"), _OF_PROJECTS)
def test_a_rule_on_one_app_finds_it_in_its_project_and_nowhere_else(
    tmp_path: Path, project: str, app: str
) -> None:
    rule = AlertRule(name="silent", kind=RuleKind.NO_DATA, app=app)
    firing = {
        f'rag_monitor_alerts{{app="{app_label(*of)}",rule="silent",state="firing"}}': f"1x{PLAYED}"
        for of in _OF_PROJECTS
    }
    told = [(5, "RagMonitorSilent", [_silent(app_label(project, app))])]

    play(tmp_path, firing, told, [rule], project)


@pytest.mark.parametrize("project", ["default", "loans", "loans.eu", EVERY_PROJECT])
def test_a_rule_on_all_apps_is_about_those_of_its_project(tmp_path: Path, project: str) -> None:
    rule = AlertRule(name="silent", kind=RuleKind.NO_DATA)
    firing = {
        f'rag_monitor_alerts{{app="{app_label(*of)}",rule="silent",state="firing"}}': f"1x{PLAYED}"
        for of in _OF_PROJECTS
    }
    own = [_silent(app_label(*of)) for of in _OF_PROJECTS if project in (of[0], EVERY_PROJECT)]

    play(tmp_path, firing, [(5, "RagMonitorSilent", own)], [rule], project)


@pytest.mark.parametrize("app", ["*", "faq"])
def test_what_prometheus_computes_itself_keeps_to_the_project(tmp_path: Path, app: str) -> None:
    rule = AlertRule(
        name="low", kind=RuleKind.THRESHOLD, app=app, metric="faithfulness", params={"below": 0.8}
    )
    series = {
        f'rag_monitor_app_score{end}{{app="{label}",metric="faithfulness",judge="combined"}}': value
        for label in ("faq", "loans/faq", "loans.eu/faq")
        for end, value in (("", "0.5x60"), ("_upper", "0.6x60"), ("_samples", "400x60"))
    }
    alert = {
        "exp_labels": {
            "app": "loans/faq", "judge": "combined", "metric": "faithfulness",
            "severity": "page", "rule": "low",
        },
        "exp_annotations": {
            "summary": "low: faithfulness of loans/faq has the upper end of its interval at 0.668, "
            "below 0.8."
        },
    }  # fmt: skip

    play(tmp_path, series, [(5, "RagMonitorLow", [alert])], [rule], "loans")


def test_a_leader_that_no_longer_looks_at_the_rules_is_noticed(tmp_path: Path) -> None:
    series = {
        'rag_monitor_leads{instance="w"}': f"1x{PLAYED}",
        'rag_monitor_rules_checked_timestamp_seconds{instance="w"}': f"0+60x20 1200x{PLAYED}",
        'rag_monitor_rules_checked_timestamp_seconds{instance="api"}': f"0x{PLAYED}",
    }
    summary = "A worker leads, but has not looked at the alert rules for five minutes."
    alert = {"exp_labels": {"severity": "page"}, "exp_annotations": annotated(summary)}

    play(
        tmp_path,
        series,
        [(20, "RagMonitorRulesStand", []), (30, "RagMonitorRulesStand", [alert])],
    )


def _pod(
    name: str, waits: int, good: int, bad: int, rest: str = "", gap: int = 0
) -> dict[str, str]:
    """The leader's series as scraped of one pod: faithfulness of `a`, good and then bad."""
    of_pod = f'app="a",metric="faithfulness",instance="{name}:8700",pod="{name}",job="rag-monitor"'
    wait = f"_x{waits} " if waits else ""

    def course(before: str, after: str) -> str:
        kept = [f"{value}x{count - 1}" for value, count in ((before, good), (after, bad)) if count]
        between = f" _x{gap} " if gap else " "
        return f"{wait}{between.join(kept)} {rest}".strip()

    return {
        f'rag_monitor_app_score{{{of_pod},judge="combined"}}': course("0.95", "0.50"),
        f'rag_monitor_app_score_lower{{{of_pod},judge="combined"}}': course("0.93", "0.46"),
        f'rag_monitor_app_score_upper{{{of_pod},judge="combined"}}': course("0.97", "0.54"),
        f'rag_monitor_app_score_samples{{{of_pod},judge="combined"}}': course("200", "200"),
        f'rag_monitor_app_score_samples{{{of_pod},judge="embedded/1"}}': course("200", "200"),
    }


FALLEN = {
    "exp_labels": {
        "severity": "page",
        "rule": "faithfulness drop",
        "app": "a",
        "metric": "faithfulness",
        "judge": "combined",
        "job": "rag-monitor",
    },
    "exp_annotations": {
        "summary": "faithfulness drop: faithfulness of a changed by -0.45 against 1h before.",
    },
}


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([_pod("p1", 0, 90, 60)], id="one pod"),
        pytest.param([_pod("p1", 0, 80, 0, "stale"), _pod("p2", 81, 9, 60)], id="another leads"),
        pytest.param([_pod("p1", 0, 80, 0), _pod("p2", 84, 6, 60)], id="the old one was killed"),
        pytest.param([_pod("p1", 0, 90, 60), _pod("p2", 0, 90, 60)], id="two replicas"),
        pytest.param([_pod("p1", 0, 88, 60, gap=3)], id="restarted"),
        pytest.param(
            [_pod("p1", 0, 50, 0, "stale"), _pod("p2", 51, 20, 0, "stale"), _pod("p3", 72, 18, 60)],
            id="twice",
        ),
    ],
)
def test_a_fall_is_seen_whichever_pod_leads(pods: list[dict[str, str]], tmp_path: Path) -> None:
    series = {name: values for pod in pods for name, values in pod.items()}
    told = [(85, "RagMonitorFaithfulnessDrop", []), (100, "RagMonitorFaithfulnessDrop", [FALLEN])]

    play(tmp_path, series, told)


def test_a_firing_rule_of_the_monitor_fires_once_whichever_pod_says_so(tmp_path: Path) -> None:
    at = 'app="a",rule="hit rate drop",state="firing",job="rag-monitor"'
    alert = {
        "exp_labels": {
            "severity": "ticket",
            "rule": "hit rate drop",
            "app": "a",
            "state": "firing",
            "job": "rag-monitor",
        },
        "exp_annotations": {
            "summary": "hit rate drop: fires for a; rag-monitor's Alerts page has the numbers.",
        },
    }
    play(
        tmp_path,
        {
            f'rag_monitor_alerts{{{at},instance="p1:8700",pod="p1"}}': "1x20 stale",
            f'rag_monitor_alerts{{{at},instance="p2:8700",pod="p2"}}': "_x15 1x40",
        },
        [
            (10, "RagMonitorHitRateDrop", [alert]),
            (18, "RagMonitorHitRateDrop", [alert]),
            (40, "RagMonitorHitRateDrop", [alert]),
        ],
    )
