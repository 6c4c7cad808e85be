"""Writes prometheusrule.yaml from the rules that `rag-monitor rules export --prometheus` wrote.

Run it from anywhere: `python deploy/kubernetes/build.py`. A test keeps both equal.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
RULES = HERE.parent / "prometheus" / "rag_monitor_rules.yml"
TARGET = HERE / "prometheusrule.yaml"


def manifest() -> dict[str, Any]:
    """The rules as an object of the Prometheus Operator."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "rag-monitor", "labels": {"app.kubernetes.io/name": "rag-monitor"}},
        "spec": yaml.safe_load(RULES.read_text("utf-8")),
    }


def main() -> None:
    """Write the file."""
    head = "# Written by build.py from ../prometheus/rag_monitor_rules.yml. Edit the rules there.\n"
    text = yaml.safe_dump(manifest(), sort_keys=False, allow_unicode=True, width=1000)
    TARGET.write_text(head + text, "utf-8")


if __name__ == "__main__":
    main()
