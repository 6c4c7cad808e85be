"""The exported rules, run by Prometheus' own tool on series made up for the purpose."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.alerting.prometheus_export import export_rules
from rag_monitor.alerting.rules import default_rules
from rag_monitor.domain.alert import AlertRule

PLAYED = 180
"""Minutes of a scene."""


def play(
    folder: Path,
    series: Mapping[str, str],
    told: Sequence[tuple[int, str, Sequence[Mapping[str, Any]]]],
    rules: Sequence[AlertRule] = (),
) -> None:
    """Hold what fires against what should.

    Args:
        folder: Where the files go.
        series: Values by series, one a minute, as promtool writes them.
        told: Minute, name of the alert, and what it should be like then (none: it must not fire).
        rules: What is exported; the shipped ones when there are none.
    """
    tool = shutil.which("promtool")
    if tool is None:
        pytest.skip("promtool is not installed (Debian package prometheus)")
    file = folder / "rules.yml"
    file.write_text(export_rules(list(rules) or default_rules()), encoding="utf-8")
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
    alert = {"exp_labels": {"severity": "page"}, "exp_annotations": {"summary": summary}}
    play(
        tmp_path,
        {
            'rag_monitor_leads{instance="worker-1"}': f"1x10 _x{PLAYED}",
            'rag_monitor_leads{instance="worker-2"}': f"0x10 1x20 _x{PLAYED}",
            'rag_monitor_leads{instance="api-1"}': f"0x{PLAYED}",
        },
        [(20, "RagMonitorNoLeader", []), (45, "RagMonitorNoLeader", [alert])],
    )
