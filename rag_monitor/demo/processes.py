"""The story's child processes: started with their own log, stopped by their own id."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

import httpx

from rag_monitor.errors import RagMonitorError

_STOP_GRACE_S: Final = 8.0
_POLL_S: Final = 0.1
_LOG_TAIL: Final = 12


class StoryError(RagMonitorError):
    """The demo story did not happen; the message says where it stopped."""


def free_port() -> int:
    """A TCP port of the loopback interface that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Child:
    """A Python module run as a child process.

    Args:
        name: What messages call it.
        arguments: Module name and its arguments, after `python -m`.
        env: The whole environment of the child.
        log: File that receives its output.
    """

    def __init__(
        self, name: str, arguments: Sequence[str], env: Mapping[str, str], log: Path
    ) -> None:
        self._name = name
        self._arguments = tuple(arguments)
        self._env = dict(env)
        self._log = log
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        with self._log.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                *self._arguments,
                env=self._env,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def ready(self, http: httpx.AsyncClient, url: str, timeout_s: float) -> None:
        """Wait until `url` answers with success.

        Raises:
            StoryError: The process ended or did not answer in time; with the end of its log.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while loop.time() < deadline:
            self.check()
            try:
                if (await http.get(url)).is_success:
                    return
            except httpx.TransportError:
                pass  # not listening yet: ask again until the deadline
            await asyncio.sleep(_POLL_S)
        raise StoryError(
            "{name} was not ready after {timeout_s:.0f} s\n{tail}",
            name=self._name,
            timeout_s=timeout_s,
            tail=self._tail(),
        )

    def check(self) -> None:
        """Raise StoryError when the process has ended."""
        code = self._process.returncode if self._process else None
        if code is not None:
            raise StoryError(
                "{name} ended with exit code {code}\n{tail}",
                name=self._name,
                code=code,
                tail=self._tail(),
            )

    async def stop(self) -> None:
        """Ask it to end, then insist."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), _STOP_GRACE_S)
        except TimeoutError:
            process.kill()
            await process.wait()

    def _tail(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-_LOG_TAIL:])
