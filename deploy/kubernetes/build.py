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
CONFIG = HERE / "config.yaml"
LOCAL_URL = "http://localhost:8700"
"""Where the rules of `deploy/prometheus` show the pages."""


def manifest() -> dict[str, Any]:
    """The rules as an object of the Prometheus Operator."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "rag-monitor", "labels": {"app.kubernetes.io/name": "rag-monitor"}},
        "spec": yaml.safe_load(RULES.read_text("utf-8").replace(LOCAL_URL, public_url())),
    }


def public_url() -> str:
    """Where people open the pages, as the ConfigMap says."""
    configured = [
        document["data"].get("RAG_MONITOR_PUBLIC_URL")
        for document in yaml.safe_load_all(CONFIG.read_text("utf-8"))
        if document["kind"] == "ConfigMap"
    ]
    (url,) = filter(None, configured)
    return str(url)


def main() -> None:
    """Write the file."""
    head = "# Written by build.py from ../prometheus/rag_monitor_rules.yml. Edit the rules there.\n"
    text = yaml.safe_dump(manifest(), sort_keys=False, allow_unicode=True, width=1000)
    TARGET.write_text(head + text, "utf-8")


if __name__ == "__main__":
    main()
