"""The pages in Chinese: `chinese.json` maps English text to Chinese. A test keeps it complete."""

from __future__ import annotations

import json
from importlib import resources
from typing import Final

CHINESE: Final[dict[str, str]] = json.loads(
    resources.files("rag_monitor.server.ui").joinpath("chinese.json").read_text(encoding="utf-8")
)
