"""What all channels that post over HTTP share: options, where they may go, answers as errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar
from zoneinfo import ZoneInfo

from rag_monitor.alerting.notifiers.notifier import DeliveryError
from rag_monitor.alerting.plain_text import plain
from rag_monitor.domain.clock import Clock, SystemClock
from rag_monitor.errors import ConfigurationError, OutboundRefused
from rag_monitor.outbound import retry
from rag_monitor.outbound.connection import Reply
from rag_monitor.outbound.guard import OutboundPolicy, check_url
from rag_monitor.outbound.http import OutboundFailed, request

_MAX_RETRY_AFTER_S: Final = 3600.0
_LONGEST_S: Final = 60.0
"""A send that takes longer would outlast the lease on its messages, and they would go out twice."""
_UNACCEPTABLE: Final = frozenset({400, 413, 422})
"""What is wrong is this message, not the channel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """Options of every channel that speaks HTTP."""

    url: str = field(repr=False)
    """Often holds the robot's token."""
    allow_private: bool = False
    """Private and loopback addresses may be reached."""
    allow_hosts: tuple[str, ...] = ()
    """Host names, addresses or networks that may be reached whatever they are."""
    timeout_s: float = 10.0
    """Total time of one send."""

    @property
    def policy(self) -> OutboundPolicy:
        """Where this channel may go."""
        return OutboundPolicy(allow_private=self.allow_private, allow_hosts=tuple(self.allow_hosts))


def post(
    options: HttpOptions,
    body: bytes,
    headers: Mapping[str, str] | None = None,
    *,
    url: str | None = None,
) -> Reply:
    """POST and return the answer of status 2xx.

    Raises:
        DeliveryError: No answer in time, or one that says no.
    """
    try:
        reply = request(
            "POST",
            url or options.url,
            body=body,
            headers={"Content-Type": "application/json; charset=utf-8", **(headers or {})},
            policy=options.policy,
            deadline_s=options.timeout_s,
        )
    except (OutboundRefused, OutboundFailed) as error:
        raise DeliveryError(str(error)) from error
    if 200 <= reply.status < 300:
        return reply
    raise DeliveryError(
        "HTTP {status}: {reply}",
        status=reply.status,
        reply=excerpt(reply),
        retry_after_s=retry_after(reply),
        permanent=reply.status in _UNACCEPTABLE,
    )


def encode(payload: object) -> bytes:
    """JSON as UTF-8; lone surrogates cannot break it."""
    return json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace")


def decode(reply: Reply) -> dict[str, Any]:
    """The answer's JSON object.

    Raises:
        DeliveryError: It is none, so nobody said that the message was taken.
    """
    try:
        content = json.loads(reply.body)
    except ValueError:
        raise DeliveryError("the answer is no JSON: {reply}", reply=excerpt(reply)) from None
    if not isinstance(content, dict):
        raise DeliveryError("the answer is no JSON object: {reply}", reply=excerpt(reply))
    return content


def retry_after(reply: Reply) -> float | None:
    """Seconds of a Retry-After header, at most an hour; None where it asks for no pause."""
    seconds = retry.retry_after(reply.headers.get("retry-after"))
    return min(seconds, _MAX_RETRY_AFTER_S) if seconds else None


def excerpt(reply: Reply) -> str:
    """The beginning of an answer, for error messages."""
    return plain(reply.body[:400].decode("utf-8", "replace"), 200) or "(empty)"


def check_options(options: HttpOptions) -> None:
    """Refuse what will never work, before anything is sent.

    Raises:
        ConfigurationError: The time that a send may take is none.
        OutboundRefused: The URL will never be reached, with the reason.
    """
    if not 0 < options.timeout_s <= _LONGEST_S:
        raise ConfigurationError(
            "timeout_s: must be above 0 and at most {longest:g} seconds, not {timeout_s:g}",
            longest=_LONGEST_S,
            timeout_s=options.timeout_s,
        )
    check_url(options.url, options.policy)


OptionsT = TypeVar("OptionsT", bound=HttpOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedOptions(HttpOptions):
    """With a secret shared with the receiver; without one, messages are not signed."""

    secret: str = field(default="", repr=False)


class HttpChannel(Generic[OptionsT]):
    """Options that were checked, a language, and where links begin.

    Args:
        options: Checked here: an address inside the network is refused unless it is allowed.
        language: Of the messages.
        public_url: Where links in messages begin; None: no links.
        timezone: IANA name; times of messages are told in it.
        clock: Dates signatures.
    """

    def __init__(
        self,
        options: OptionsT,
        *,
        language: str = "en",
        public_url: str | None = None,
        timezone: str = "UTC",
        clock: Clock | None = None,
    ) -> None:
        check_options(options)
        self._options = options
        self._language = language
        self._public_url = public_url
        self._zone = ZoneInfo(timezone)
        self._clock = clock or SystemClock()
