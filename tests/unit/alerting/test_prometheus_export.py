"""Our rules as Prometheus rules, read by Prometheus' own tool where it is installed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rag_monitor.alerting.prometheus_export import export_rules
from rag_monitor.alerting.rules import check_rule, default_rules
from rag_monitor.domain.alert import AlertRule, RuleKind
from tests.unit.alerting.fakes import hourly_rules

DEPLOYED = "http://localhost:8700"
"""Where `deploy/compose.yaml` shows the pages."""
DEPLOY = Path(__file__).resolve().parents[3] / "deploy"


def _promtool(*arguments: str | Path) -> str:
    tool = shutil.which("promtool")
    if tool is None:
        pytest.skip("promtool is not installed (Debian package prometheus)")
    done = subprocess.run([tool, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _rules() -> Iterator[AlertRule]:
    """One of every kind and form, with names that try to break out."""
    evil = 'a "b" {{ .Value }} \\ {x="y"} 忠实度'
    fields: list[dict[str, Any]] = [
        {"kind": RuleKind.THRESHOLD, "metric": "faithfulness", "params": {"below": 0.8}},
        {"kind": RuleKind.THRESHOLD, "metric": "refusal_rate", "params": {"above": 0.2}},
        {"kind": RuleKind.THRESHOLD, "metric": "fault:invented", "params": {"above": 0.1}},
        {"kind": RuleKind.THRESHOLD, "metric": "resolved_rate", "params": {"below": 0.7}},
        {"kind": RuleKind.DROP, "metric": "session_faithfulness"},
        {"kind": RuleKind.DROP, "metric": "fault:none"},
        {"kind": RuleKind.THRESHOLD, "metric": "faithfulness", "window_s": 600.0,
         "params": {"below": 0.8}},
        *(
            {"kind": RuleKind.DROP, "metric": "faithfulness", "params": {"baseline": baseline}}
            for baseline in ("previous_window", "last_week", "previous_release")
        ),
        {"kind": RuleKind.CHANGE, "metric": "faithfulness", "window_s": 604_800.0},
        {"kind": RuleKind.BURN_RATE, "metric": "faithfulness"},
        {"kind": RuleKind.NO_DATA, "window_s": 900.0},
        {"kind": RuleKind.JUDGE_FAILURES, "metric": "faithfulness"},
        {"kind": RuleKind.SUSPECT, "metric": "faithfulness"},
        {"kind": RuleKind.HIT_RATE, "metric": "plugin", "params": {"min_rate": 0.5}},
        {"kind": RuleKind.HIT_RATE},
        {"kind": RuleKind.LATENCY, "metric": "end_to_end_ms", "params": {"max_ms": 5000}},
        {"kind": RuleKind.LATENCY, "metric": "first_byte_ms"},
        {"kind": RuleKind.LATENCY, "metric": "retrieval_ms"},
    ]  # fmt: skip
    for number, given in enumerate(fields):
        for app in ("*", "shop"):
            rule = AlertRule(name=f"{evil} {number} {app}", app=app, hold_for_s=90.0, **given)
            check_rule(rule)
            yield rule
    yield AlertRule(name="budget", kind=RuleKind.BUDGET)


def test_every_kind_of_rule_is_one_that_prometheus_reads(tmp_path: Path) -> None:
    file = tmp_path / "rules.yml"
    file.write_text(export_rules(list(_rules())), encoding="utf-8")

    assert "SUCCESS" in _promtool("check", "rules", file)


def test_a_disabled_rule_is_left_out() -> None:
    rule = AlertRule(name="switched off", kind=RuleKind.NO_DATA, enabled=False)

    assert "switched off" not in export_rules([rule])


def test_what_prometheus_cannot_compute_is_read_from_our_own_state() -> None:
    rule = AlertRule(name="slow drift", kind=RuleKind.CHANGE, metric="faithfulness", app="shop")

    written = export_rules([rule], project="default")

    expected = r"(rag_monitor_alerts{app=\"shop\",rule=\"slow drift\",state=\"firing\"}) == 1"
    assert expected in written


@pytest.mark.parametrize(
    ("kind", "params"), [(RuleKind.THRESHOLD, {"below": 0.8}), (RuleKind.DROP, {})]
)
def test_a_rule_on_one_knowledge_base_is_not_one_on_the_whole_app(
    kind: RuleKind, params: dict[str, float | str]
) -> None:
    rule = AlertRule(
        name="loans", kind=kind, metric="faithfulness", params={**params, "knowledge_base": "loans"}
    )

    assert r"(rag_monitor_alerts{rule=\"loans\",state=\"firing\"}) == 1" in export_rules([rule])


@pytest.mark.parametrize(("window_s", "native"), [(3600.0, True), (7200.0, False)])
def test_a_metric_of_sessions_is_read_from_what_is_recorded_of_them(
    window_s: float, native: bool
) -> None:
    rule = AlertRule(
        name="unresolved",
        kind=RuleKind.THRESHOLD,
        metric="resolved_rate",
        app="shop",
        window_s=window_s,
        params={"below": 0.7},
    )

    written = export_rules([rule], project="default")

    at = r"{app=\"shop\",metric=\"resolved_rate\"}"
    for part in ("", "_upper", "_samples"):
        assert f'record: "rag_monitor:session_app_estimate{part}"' in written
        of_leader = f"avg without (instance, pod) (rag_monitor_session_app_estimate{part})"
        assert of_leader in written
        assert (f"rag_monitor:session_app_estimate{part}{at}" in written) == native


@pytest.mark.parametrize(("judge", "native"), [({}, True), ({"judge": "embedded/1"}, False)])
def test_the_share_of_a_fault_is_read_from_its_own_series(
    judge: dict[str, float | str], native: bool
) -> None:
    rule = AlertRule(
        name="inventions",
        kind=RuleKind.THRESHOLD,
        metric="fault:invented",
        app="shop",
        params={"above": 0.1, **judge},
    )

    written = export_rules([rule], project="default")

    at = r"{app=\"shop\",fault=\"invented\"}"
    for name in ("", "_lower", "_samples"):
        series = f"avg without (instance, pod) (rag_monitor_app_fault_ratio{name}{at})"
        assert (series in written) == native
    assert (r"rag_monitor_alerts{app=\"shop\",rule=\"inventions\"" in written) != native


_INVENTIONS = """
rule_files: [{rules}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {{series: 'rag_monitor_app_fault_ratio{{app="a",fault="invented"}}', values: '0.02x10 0.30x20'}}
      - {{series: 'rag_monitor_app_fault_ratio_lower{{app="a",fault="invented"}}', values: '0.01x10 0.25x20'}}
      - {{series: 'rag_monitor_app_fault_ratio_upper{{app="a",fault="invented"}}', values: '0.04x10 0.35x20'}}
      - {{series: 'rag_monitor_app_fault_ratio_samples{{app="a",fault="invented"}}', values: '400x30'}}
    alert_rule_test:
      - {{eval_time: 9m, alertname: RagMonitorInventions, exp_alerts: []}}
      - eval_time: 20m
        alertname: RagMonitorInventions
        exp_alerts:
          - exp_labels: {{app: a, fault: invented, severity: page, rule: inventions}}
            exp_annotations:
              summary: "inventions: fault:invented of a has the lower end of its interval at 0.216, above 0.1."
"""  # noqa: E501


def test_a_share_of_inventions_fires_in_prometheus(tmp_path: Path) -> None:
    rule = AlertRule(
        name="inventions", kind=RuleKind.THRESHOLD, metric="fault:invented", params={"above": 0.1}
    )
    rules, scene = tmp_path / "rules.yml", tmp_path / "scene.yml"
    rules.write_text(export_rules([rule]), encoding="utf-8")
    scene.write_text(_INVENTIONS.format(rules=rules), encoding="utf-8")

    assert "SUCCESS" in _promtool("test", "rules", scene)


def test_the_deployed_rules_are_the_shipped_ones() -> None:
    deployed = (DEPLOY / "prometheus" / "rag_monitor_rules.yml").read_text(encoding="utf-8")

    assert deployed == export_rules(default_rules(), public_url=DEPLOYED)


def test_the_deployed_configuration_is_one_that_prometheus_takes() -> None:
    assert "SUCCESS" in _promtool("check", "config", DEPLOY / "prometheus" / "prometheus.yml")


def test_the_deployed_alertmanager_configuration_is_taken() -> None:
    tool = shutil.which("amtool")
    if tool is None:
        pytest.skip("amtool is not installed (Debian package prometheus-alertmanager)")
    done = subprocess.run(
        [tool, "check-config", DEPLOY / "alertmanager" / "alertmanager.yml"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


_SCENE = """
rule_files: [{rules}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {{series: 'rag_monitor_app_score{{app="a",metric="faithfulness",judge="combined"}}', values: '0.93x70 0.70x80'}}
      - {{series: 'rag_monitor_app_score_lower{{app="a",metric="faithfulness",judge="combined"}}', values: '0.90x70 0.66x80'}}
      - {{series: 'rag_monitor_app_score_upper{{app="a",metric="faithfulness",judge="combined"}}', values: '0.95x70 0.74x80'}}
      - {{series: 'rag_monitor_app_score_samples{{app="a",metric="faithfulness",judge="combined"}}', values: '400x150'}}
      - {{series: 'rag_monitor_app_score{{app="b",metric="faithfulness",judge="combined"}}', values: '0.93x70 0.70x80'}}
      - {{series: 'rag_monitor_app_score_lower{{app="b",metric="faithfulness",judge="combined"}}', values: '0.70x70 0.40x80'}}
      - {{series: 'rag_monitor_app_score_upper{{app="b",metric="faithfulness",judge="combined"}}', values: '0.99x70 0.95x80'}}
      - {{series: 'rag_monitor_app_score_samples{{app="b",metric="faithfulness",judge="combined"}}', values: '60x150'}}
      - {{series: 'rag_monitor_app_score_samples{{app="a",metric="faithfulness",judge="embedded/1"}}', values: '400x150'}}
      - {{series: 'rag_monitor_app_score_samples{{app="b",metric="faithfulness",judge="embedded/1"}}', values: '60x150'}}
      - {{series: 'rag_monitor_app_score{{app="c",metric="faithfulness",judge="combined"}}', values: '0.93x70 0.70x80'}}
      - {{series: 'rag_monitor_app_score_lower{{app="c",metric="faithfulness",judge="combined"}}', values: '0.90x70 0.66x80'}}
      - {{series: 'rag_monitor_app_score_upper{{app="c",metric="faithfulness",judge="combined"}}', values: '0.95x70 0.74x80'}}
      - {{series: 'rag_monitor_app_score_samples{{app="c",metric="faithfulness",judge="combined"}}', values: '400x150'}}
      - {{series: 'rag_monitor_app_score_samples{{app="c",metric="faithfulness",judge="embedded/1"}}', values: '400x70 30x80'}}
      - {{series: 'rag_monitor_app_score_samples{{app="c",metric="faithfulness",judge="embedded/2"}}', values: '_x70 400x80'}}
    alert_rule_test:
      - {{eval_time: 65m, alertname: RagMonitorFaithfulnessDrop, exp_alerts: []}}
      - eval_time: 80m
        alertname: RagMonitorFaithfulnessDrop
        exp_alerts:
          - exp_labels: {{app: a, metric: faithfulness, judge: combined, severity: page, rule: faithfulness drop}}
            exp_annotations:
              summary: "faithfulness drop: faithfulness of a changed by -0.23 against 1h before."
"""  # noqa: E501


def test_a_drop_fires_in_prometheus_where_it_is_beyond_chance_and_only_there(
    tmp_path: Path,
) -> None:
    """Of three apps, one has too few judged, and for one another judge took over."""
    rules = tmp_path / "rules.yml"
    rules.write_text(export_rules(hourly_rules()), encoding="utf-8")
    scene = tmp_path / "scene.yml"
    scene.write_text(_SCENE.format(rules=rules), encoding="utf-8")

    assert "SUCCESS" in _promtool("test", "rules", scene)


def test_alerts_say_what_to_do_and_where_to_look(tmp_path: Path) -> None:
    own = AlertRule(
        name="mine", kind=RuleKind.NO_DATA, runbook_url="https://wiki.example.com/{{a}}"
    )
    shipped = AlertRule(name="silent", kind=RuleKind.NO_DATA)
    base = "https://monitor.example.com/"

    text = export_rules([own, shipped], public_url=base)

    rules = [r for group in yaml.safe_load(text)["groups"] for r in group["rules"] if "alert" in r]
    links = {rule["alert"]: rule["annotations"] for rule in rules}
    assert links["RagMonitorMine"]["runbook_url"] == 'https://wiki.example.com/{{ "{{" }}a}}'
    assert links["RagMonitorSilent"]["runbook_url"] == f"{base}runbooks#no_data"
    assert links["RagMonitorSilent"]["dashboard_url"].startswith(f"{base}?app={{{{")
    assert links["RagMonitorStoreDown"]["runbook_url"] == f"{base}runbooks#monitor"
    assert links["RagMonitorStoreDown"]["dashboard_url"] == base
    assert "dashboard_url" not in export_rules([own, shipped])
    assert export_rules([own, shipped]).count("runbook_url") == 1  # ours is a page of the monitor
    file = tmp_path / "rules.yml"
    file.write_text(text, encoding="utf-8")
    assert "SUCCESS" in _promtool("check", "rules", file)


def test_the_dashboard_of_an_alert_is_that_of_its_app(tmp_path: Path) -> None:
    rule = AlertRule(name="silent", kind=RuleKind.BUDGET)
    text = export_rules([rule], public_url="https://m.example.com")
    (tmp_path / "rules.yml").write_text(text, encoding="utf-8")
    series = [
        {
            "series": f'rag_monitor_alerts{{app="{app}",rule="silent",state="firing"}}',
            "values": "1x5",
        }
        for app in ("faq", "team/a b", "default/a/b")
    ]
    names = {"faq": "faq", "team/a b": "a+b", "default/a/b": "a%2Fb"}
    expected = [
        {
            "exp_labels": {"app": app, "rule": "silent", "state": "firing", "severity": "page"},
            "exp_annotations": {
                "summary": f"silent: fires for {app}; rag-monitor's Alerts page has the numbers.",
                "runbook_url": "https://m.example.com/runbooks#budget",
                "dashboard_url": f"https://m.example.com/?app={name}",
            },
        }
        for app, name in names.items()
    ]
    test = {
        "interval": "1m",
        "input_series": series,
        "alert_rule_test": [
            {"eval_time": "3m", "alertname": "RagMonitorSilent", "exp_alerts": expected}
        ],
    }
    scene = {"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": [test]}
    (tmp_path / "test.yml").write_text(json.dumps(scene), encoding="utf-8")

    assert "SUCCESS" in _promtool("test", "rules", tmp_path / "test.yml")
