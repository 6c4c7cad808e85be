"""Child processes of the story start, fail loudly and stop."""

from __future__ import annotations

import os
from pathlib import Path

import httpx
import pytest

from rag_monitor.demo.processes import Child, StoryError, free_port


async def test_a_child_that_dies_is_reported_with_the_end_of_its_log(tmp_path: Path) -> None:
    child = Child("the monitor", ["no_such_module_here"], dict(os.environ), tmp_path / "log")

    async with child, httpx.AsyncClient(trust_env=False) as http:
        with pytest.raises(StoryError, match=r"(?s)the monitor ended.*no_such_module_here"):
            await child.ready(http, f"http://127.0.0.1:{free_port()}/", timeout_s=30)


async def test_a_child_is_stopped_at_the_end(tmp_path: Path) -> None:
    arguments = ["http.server", str(port := free_port()), "--bind", "127.0.0.1"]
    url = f"http://127.0.0.1:{port}/"

    async with httpx.AsyncClient(trust_env=False) as http:
        async with Child("a server", arguments, dict(os.environ), tmp_path / "log") as child:
            await child.ready(http, url, timeout_s=30)
        with pytest.raises(httpx.ConnectError):
            await http.get(url)
