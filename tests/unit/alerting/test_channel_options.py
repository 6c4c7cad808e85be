"""Options of channels that could never deliver are refused when they are set up."""

from __future__ import annotations

import pytest

from rag_monitor.alerting.notifiers.registry import build
from rag_monitor.errors import ConfigurationError


@pytest.mark.parametrize(
    ("kind", "option", "value"),
    [
        ("webhook", "timeout_s", 0),
        ("slack", "timeout_s", -1),
        ("feishu", "timeout_s", 600),
        ("alertmanager", "valid_for_s", 0),
    ],
)
def test_a_time_in_which_nothing_can_be_sent_is_named(kind: str, option: str, value: int) -> None:
    config = {"kind": kind, "url": "http://127.0.0.1:8080/", "allow_private": True, option: value}

    with pytest.raises(ConfigurationError, match=rf"notifiers\.ops: {option}: must be above 0"):
        build(config, channel="ops")
