"""A receiver that keeps what it is given."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Reply:
    status: int = 200
    content_type: str = "application/x-protobuf"
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class JsonReply:
    accepted: int = 1
    trace_ids: list[str] = field(default_factory=lambda: ["a" * 32])
    unknown_fields: list[str] = field(default_factory=list)
    errors: list[object] = field(default_factory=list)


class FakeReceiver:
    def __init__(self) -> None:
        self.received: list[tuple[str, bytes, str]] = []
        self.error: Exception | None = None
        self.bulk = False
        self.json_reply = JsonReply()

    async def receive_traces(
        self,
        body: bytes,
        content_type: str,
        content_encoding: str | None,
        project: str,
        *,
        bulk: bool = False,
    ) -> Reply:
        if self.error is not None:
            raise self.error
        self.bulk = bulk
        self.received.append(("traces", body, project))
        return Reply(content_type=content_type)

    async def receive_logs(
        self, body: bytes, content_type: str, content_encoding: str | None, project: str
    ) -> Reply:
        self.received.append(("logs", body, project))
        return Reply(content_type=content_type)

    async def receive_json(self, body: bytes, project: str, *, bulk: bool = False) -> JsonReply:
        if self.error is not None:
            raise self.error
        self.bulk = bulk
        self.received.append(("json", body, project))
        return self.json_reply
