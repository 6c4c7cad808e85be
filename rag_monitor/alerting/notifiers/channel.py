"""What all channels that post over HTTP have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar
from zoneinfo import ZoneInfo

from rag_monitor.alerting.notifiers.transport import HttpOptions, check_options
from rag_monitor.domain.clock import Clock, SystemClock

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
