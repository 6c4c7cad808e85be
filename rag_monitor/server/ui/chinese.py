"""The pages in Chinese: English text to Chinese. A test keeps it complete.

`chinese.json` holds what the pages say, `chinese_api.json` the descriptions of the interface.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Final


def _read(name: str) -> dict[str, str]:
    text = resources.files("rag_monitor.server.ui").joinpath(name).read_text(encoding="utf-8")
    found: dict[str, str] = json.loads(text)
    return found


CHINESE: Final[dict[str, str]] = _read("chinese_api.json") | _read("chinese.json")
