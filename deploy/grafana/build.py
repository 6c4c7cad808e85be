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

from application_panels import latency, quality, retrieval, routing, sessions  # noqa: E402
from operation_panels import alerts, judges  # noqa: E402
from panels import Panel, address, choice, lay_out, source  # noqa: E402

PUBLIC_URL: Final = "http://localhost:8700"
FOLDER: Final = HERE / "dashboards"

DASHBOARDS: Final[dict[str, tuple[str, Callable[[], Sequence[Panel]]]]] = {
    "rag-monitor-quality": ("RAG quality", quality),
    "rag-monitor-sessions": ("RAG sessions", sessions),
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
