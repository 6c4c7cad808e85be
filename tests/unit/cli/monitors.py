"""Monitors that answer commands without a network."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rag_monitor.client import Transport
from rag_monitor.outbound.connection import Reply


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    """Without the query."""
    content: bytes
    headers: Mapping[str, str]


Handler = Callable[[Request], Reply]


def answer(status: int = 200, content: object = None, **headers: str) -> Reply:
    """An answer; keyword names become header names."""
    return Reply(
        status=status,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
        body=b"" if content is None else json.dumps(content).encode(),
    )


def transport(handler: Handler) -> Transport:
    """The network of a `Remote`, with `handler` at its other end."""

    def send(
        method: str, path: str, body: bytes | None, headers: Mapping[str, str], timeout_s: float
    ) -> Reply:
        assert timeout_s > 0
        return handler(Request(method, path.partition("?")[0], body or b"", headers))

    return send
