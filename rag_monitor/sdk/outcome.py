"""How a request to the monitor ended; without what it takes to make one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

RETRYABLE: Final = frozenset({408, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a request ended."""

    status: int
    """HTTP status; 0 when there was no answer."""
    body: bytes = b""
    retry_after_s: float | None = None
    """What the server asked us to wait, if it did so understandably."""

    @property
    def ok(self) -> bool:
        """Accepted. A redirect is not: the monitor never answers one."""
        return 200 <= self.status < 300

    @property
    def retryable(self) -> bool:
        """Worth sending again unchanged."""
        return self.status == 0 or self.status in RETRYABLE


class Poster(Protocol):
    """Takes request bodies to the monitor."""

    def post(self, path: str, body: bytes, content_type: str) -> Outcome:
        """Send `body`; failures are outcomes."""
        ...

    def close(self) -> None:
        """Drop the connection."""
        ...
