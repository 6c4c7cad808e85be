"""The pages in Chinese: English text to Chinese. A test keeps it complete.

`chinese.json` holds what the pages say, `chinese_api.json` the descriptions of the interface;
metrics have their names from `metrics.names`.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Final

from rag_monitor.metrics.names import METRIC_NAMES


def _read(name: str) -> dict[str, str]:
    text = resources.files("rag_monitor.server.ui").joinpath(name).read_text(encoding="utf-8")
    found: dict[str, str] = json.loads(text)
    return found


CHINESE: Final[dict[str, str]] = (
    _read("chinese_api.json") | dict(METRIC_NAMES.values()) | _read("chinese.json")
)
