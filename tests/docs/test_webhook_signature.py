"""What the alerts page tells receivers of webhooks to do, against what the webhook sends."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from rag_monitor.alerting.notifiers.webhook import WebhookNotifier, WebhookOptions, sign
from rag_monitor.domain.clock import SystemClock
from tests.docs.pages import blocks
from tests.unit.alerting.fakes import notification
from tests.unit.outbound.receiver import receiving

Check = Callable[..., bool]


@pytest.fixture(params=["docs/alerts.md", "docs/zh/alerts.md"])
def genuine(request: pytest.FixtureRequest) -> Check:
    (printed,) = [block.text for block in blocks(request.param) if block.kind == "python"]
    names: dict[str, Any] = {}
    exec(printed, names)  # noqa: S102 - our own text
    check: Check = names["genuine"]
    return check


def test_the_check_on_the_page_takes_what_the_webhook_sends(genuine: Check) -> None:
    with receiving() as receiver:
        options = WebhookOptions(url=receiver.url, allow_private=True, secret="shared")
        WebhookNotifier(options, clock=SystemClock()).send([notification()])
        (seen,) = receiver.requests

    signature = seen.headers["x-ragmonitor-signature"]
    assert genuine("shared", signature, seen.body)
    assert not genuine("other", signature, seen.body)
    assert not genuine("shared", signature, seen.body + b" ")


def test_the_check_on_the_page_refuses_what_is_old_or_no_signature(genuine: Check) -> None:
    now = int(time.time())

    assert genuine("shared", sign("shared", now, b"{}"), b"{}")
    assert not genuine("shared", sign("shared", now - 3600, b"{}"), b"{}")
    for nonsense in ("", "t=,v1=", "t=x,v1=y", f"t={now}", "v1=é", f"t={now},v1=é"):
        assert not genuine("shared", nonsense, b"{}"), nonsense
