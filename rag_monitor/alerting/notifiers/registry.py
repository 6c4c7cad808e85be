"""Makes channels from configuration: `[notifiers.<channel>]` with a `kind` and its options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final, NamedTuple, Protocol

from pydantic import TypeAdapter, ValidationError

from rag_monitor.alerting.notifiers.alertmanager import (
    AlertmanagerNotifier,
    AlertmanagerOptions,
)
from rag_monitor.alerting.notifiers.dingtalk import DingTalkNotifier, DingTalkOptions
from rag_monitor.alerting.notifiers.email import EmailNotifier, EmailOptions
from rag_monitor.alerting.notifiers.feishu import FeishuNotifier, FeishuOptions
from rag_monitor.alerting.notifiers.log import LogNotifier, LogOptions
from rag_monitor.alerting.notifiers.notifier import Notifier
from rag_monitor.alerting.notifiers.pagerduty import PagerDutyNotifier, PagerDutyOptions
from rag_monitor.alerting.notifiers.slack import SlackNotifier, SlackOptions
from rag_monitor.alerting.notifiers.webhook import WebhookNotifier, WebhookOptions
from rag_monitor.alerting.notifiers.wecom import WeComNotifier, WeComOptions
from rag_monitor.errors import ConfigurationError, OutboundRefused
from rag_monitor.field_values import wrong_value
from rag_monitor.spelling import did_you_mean


class _Maker(Protocol):
    def __call__(
        self, options: Any, *, language: str, public_url: str | None, timezone: str
    ) -> Notifier: ...


class _Kind(NamedTuple):
    options: type[Any]
    make: _Maker


_KINDS: Final[Mapping[str, _Kind]] = {
    "log": _Kind(LogOptions, LogNotifier),
    "webhook": _Kind(WebhookOptions, WebhookNotifier),
    "slack": _Kind(SlackOptions, SlackNotifier),
    "feishu": _Kind(FeishuOptions, FeishuNotifier),
    "lark": _Kind(FeishuOptions, FeishuNotifier),
    "dingtalk": _Kind(DingTalkOptions, DingTalkNotifier),
    "wecom": _Kind(WeComOptions, WeComNotifier),
    "pagerduty": _Kind(PagerDutyOptions, PagerDutyNotifier),
    "email": _Kind(EmailOptions, EmailNotifier),
    "alertmanager": _Kind(AlertmanagerOptions, AlertmanagerNotifier),
}
KINDS: Final = tuple(_KINDS)
"""Every kind of channel there is."""


def build(
    config: Mapping[str, Any],
    *,
    channel: str = "",
    language: str = "en",
    public_url: str | None = None,
    timezone: str = "UTC",
) -> Notifier:
    """One channel.

    Args:
        config: `kind` and the options of that kind; `language` overrides the server's.
        channel: Its name, for error messages.
        language: Of the messages.
        public_url: Where links in messages begin.
        timezone: What times in messages are told in.

    Raises:
        ConfigurationError: Names the key and says how to mend it.
    """
    values = dict(config)
    where = f"notifiers.{channel}" if channel else "notifier"
    kind = values.pop("kind", None)
    entry = _KINDS.get(str(kind))
    if entry is None:
        raise ConfigurationError(
            "{where}.kind: must be one of {kinds}, not {kind!r}",
            where=where,
            kinds=", ".join(KINDS),
            kind=kind,
        )
    spoken = values.pop("language", language)
    if spoken not in ("en", "zh"):
        raise ConfigurationError(
            "{where}.language: must be en or zh, not {language!r}", where=where, language=spoken
        )
    options_of_kind = [item.name for item in fields(entry.options)]
    for name in values:
        if name not in options_of_kind:
            meant = did_you_mean(name, options_of_kind)
            raise ConfigurationError(
                "{where}.{name}: a {kind} channel has no such option{meant}; it takes {names}",
                where=where,
                name=name,
                kind=kind,
                meant=meant,
                names=", ".join((*options_of_kind, "language")),
            )
    try:
        options = TypeAdapter(entry.options).validate_python(values)
        return entry.make(options, language=spoken, public_url=public_url, timezone=timezone)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "options"
        raise ConfigurationError(
            "{where}.{place}: {reason}", where=where, place=place, reason=wrong_value(first)
        ) from None
    except ConfigurationError as error:
        raise ConfigurationError("{where}: {reason}", where=where, reason=error) from None
    except OutboundRefused as error:
        raise ConfigurationError("{where}.url: {reason}", where=where, reason=error) from None


def build_all(
    configs: Mapping[str, Mapping[str, Any]],
    *,
    language: str = "en",
    public_url: str | None = None,
    timezone: str = "UTC",
) -> dict[str, Notifier]:
    """Every configured channel by name; with none configured, the log alone."""
    if not configs:
        log = LogNotifier(LogOptions(), language=language, public_url=public_url, timezone=timezone)
        return {"log": log}
    return {
        name: build(
            config, channel=name, language=language, public_url=public_url, timezone=timezone
        )
        for name, config in configs.items()
    }
