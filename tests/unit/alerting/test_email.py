"""Mail against a tiny SMTP server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from email import message_from_bytes
from email.policy import default
from typing import Any

import pytest

from rag_monitor.alerting.notifiers import build
from rag_monitor.alerting.notifiers.email import EmailNotifier, EmailOptions
from rag_monitor.alerting.notifiers.notifier import DeliveryError
from rag_monitor.domain.alert import Finding
from rag_monitor.errors import ConfigurationError
from tests.unit.alerting.fakes import notification
from tests.unit.alerting.smtp_stub import Mailbox, serving


@pytest.fixture
def box() -> Iterator[Mailbox]:
    with serving() as running:
        yield running


def _mailer(box: Mailbox, **options: Any) -> EmailNotifier:
    fields: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": box.port,
        "security": "none",
        "sender": "monitor@example.org",
        "recipients": ("ops@example.org", "mei@example.org"),
        **options,
    }
    return EmailNotifier(EmailOptions(**fields), public_url="https://monitor.example")


def test_a_mail_has_both_forms_and_a_stable_id(box: Mailbox) -> None:
    mailer = _mailer(box)
    mailer.send([notification()])
    mailer.send([notification()])

    mail = box.mail
    assert mail["Subject"] == "[FIRING · page] faithfulness drop · bank-faq"
    assert mail["To"] == "ops@example.org, mei@example.org"
    text = mail.get_body(("plain",))
    page = mail.get_body(("html",))
    assert text is not None
    assert "fell from 0.93 to 0.71" in text.get_content()
    assert page is not None
    assert f'href="https://monitor.example/traces/{"a" * 32}"' in page.get_content()
    again = message_from_bytes(box.mails[1], policy=default)
    assert mail["Message-ID"] == again["Message-ID"]


def test_traced_text_adds_no_header_and_no_markup(box: Mailbox) -> None:
    evil = "x\r\nBcc: everybody@example.org\r\n\r\n<script>alert(1)</script>"
    finding = Finding(active=True, summary=evil)

    _mailer(box).send([notification(app=evil, rule_name=evil, finding=finding)])

    assert box.mail["Bcc"] is None
    recipients = [c.lower() for c in box.commands if c.lower().startswith("rcpt")]
    assert recipients == ["rcpt to:<ops@example.org>", "rcpt to:<mei@example.org>"]
    page = box.mail.get_body(("html",))
    assert page is not None
    assert "<script>" not in page.get_content()


@pytest.mark.parametrize(
    "replies",
    [
        {"mail from": "451 try later"},
        {"rcpt": "550 no such user"},
        {"data": "554 spam"},
    ],
)
def test_a_mail_that_was_refused_is_a_failure(box: Mailbox, replies: dict[str, str]) -> None:
    box.replies = replies

    with pytest.raises(DeliveryError):
        _mailer(box).send([notification()])
    assert box.mails == []


def test_one_refused_recipient_is_logged_and_the_others_get_it(
    box: Mailbox, caplog: pytest.LogCaptureFixture
) -> None:
    box.replies = {"mei@": "550 no such user"}

    _mailer(box).send([notification()])

    assert len(box.mails) == 1
    assert "mei@example.org" in caplog.text


def test_a_server_without_starttls_gets_no_mail(box: Mailbox) -> None:
    with pytest.raises(DeliveryError):
        _mailer(box, security="starttls").send([notification()])
    assert box.mails == []


def test_a_server_that_hangs_is_given_up(box: Mailbox) -> None:
    box.hangs = threading.Event()

    with pytest.raises(DeliveryError):
        _mailer(box, timeout_s=0.05).send([notification()])


def test_a_dead_server_is_a_failure() -> None:
    with serving() as gone:
        pass

    with pytest.raises(DeliveryError):
        _mailer(gone).send([notification()])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"recipients": []}, "name at least one address"),
        ({"recipients": ["not an address"]}, "is no mail address"),
        ({"recipients": "ops@example.org"}, r"recipients: must be a list, such as \["),
        ({"host": ""}, "host: name the mail server"),
        ({"security": "none", "password": "x"}, "only sent over starttls or tls"),
    ],
)
def test_a_mail_channel_that_cannot_work_is_refused(options: dict[str, Any], said: str) -> None:
    config = {
        "kind": "email",
        "host": "mail.example",
        "sender": "m@example.org",
        "recipients": ["ops@example.org"],
        **options,
    }
    with pytest.raises(ConfigurationError, match=rf"notifiers\.mail.*{said}"):
        build(config, channel="mail")
