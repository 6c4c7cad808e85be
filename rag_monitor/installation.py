"""How to install an extra of rag-monitor from where this copy came from.

A hint such as `pip install "rag-monitor[parquet]"` only works for a copy that came from a package
index. One that was installed from a clone, a wheel or a repository names that source instead.
"""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Final

_DISTRIBUTION: Final = "rag-monitor"
_ROOT: Final = Path(__file__).resolve().parents[1]


def install_command(*extras: str) -> str:
    """The pip command that adds `extras` to the copy that runs.

    Installed from a folder, wheel or repository, the command names it, as pip recorded it
    (PEP 610). Run from a clone without being installed, it names the clone. Otherwise the copy
    came from a package index, and the name is enough.
    """
    suffix = f"[{','.join(extras)}]" if extras else ""
    source = _recorded_source()
    if source is None and (_ROOT / "pyproject.toml").is_file():
        return f'pip install "{_ROOT}{suffix}"'
    if source is None:
        return f'pip install "{_DISTRIBUTION}{suffix}"'
    url = str(source.get("url", ""))
    if "dir_info" in source and url.startswith("file:"):
        folder = urllib.request.url2pathname(urllib.parse.urlsplit(url).path)
        editable = "-e " if source["dir_info"].get("editable") else ""
        return f'pip install {editable}"{folder}{suffix}"'
    return f'pip install "{_DISTRIBUTION}{suffix} @ {_requirement_url(source)}"'


def _recorded_source() -> Mapping[str, Any] | None:
    """What pip wrote about where the distribution came from; None for a package index."""
    try:
        text = metadata.distribution(_DISTRIBUTION).read_text("direct_url.json")
        source = json.loads(text) if text else None
    except (metadata.PackageNotFoundError, ValueError):
        return None
    return source if isinstance(source, dict) and isinstance(source.get("url"), str) else None


def _requirement_url(source: Mapping[str, Any]) -> str:
    """The URL as it stands behind `@` in a requirement (PEP 508)."""
    vcs = source.get("vcs_info")
    if not isinstance(vcs, Mapping):
        return str(source["url"])
    return f"{vcs.get('vcs', 'git')}+{source['url']}@{vcs.get('commit_id', 'HEAD')}"
