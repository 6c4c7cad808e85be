"""The demo as a command: whichever part it breaks, an alert fires and the right stage is named."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("broken", "stages"),
    [
        ("retriever", {"retrieval"}),
        ("generator", {"generation"}),
        ("both", {"retrieval", "generation"}),
    ],
)
def test_the_demo_ends_with_an_alert_and_names_the_stage(broken: str, stages: set[str]) -> None:
    command = [sys.executable, "-m", "rag_monitor", "demo", "--once", "--json", "--break", broken]
    done = subprocess.run(command, capture_output=True, timeout=150, check=False)

    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    shares = told["stages_at_fault"]["after"]
    assert {stage for stage, share in shares.items() if share > 0.05} == stages
    assert {alert["state"] for alert in told["alerts"]} == {"firing"}
