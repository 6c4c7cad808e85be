"""E-mail by SMTP. The mail server is the operator's own, so its address is not guarded."""

from __future__ import annotations

import contextlib
import hashlib
import html
import logging
import smtplib
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Literal
from zoneinfo import ZoneInfo

from rag_monitor.alerting.messages import Message, compose
from rag_monitor.alerting.notifiers.notifier import DeliveryError
from rag_monitor.alerting.plain_text import plain
from rag_monitor.domain.alert import Notification
from rag_monitor.errors import ConfigurationError

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmailOptions:
    """Mail server, sender and recipients."""

    host: str
    port: int = 587
    security: Literal["starttls", "tls", "none"] = "starttls"
    username: str = ""
    password: str = field(default="", repr=False)
    sender: str
    recipients: tuple[str, ...]
    timeout_s: float = 20.0
    """Total time of one send."""


class EmailNotifier:
    """Sends one mail per batch, as plain text and HTML."""

    max_batch = 50

    def __init__(
        self,
        options: EmailOptions,
        *,
        language: str = "en",
        public_url: str | None = None,
        timezone: str = "UTC",
    ) -> None:
        if not options.host.strip():
            raise ConfigurationError("host: name the mail server")
        if not options.recipients:
            raise ConfigurationError("recipients: name at least one address")
        for address in (options.sender, *options.recipients):
            if "@" not in address or not address.isprintable() or " " in address:
                raise ConfigurationError(
                    "recipients, sender: {address!r} is no mail address", address=address
                )
        if options.password and options.security == "none":
            raise ConfigurationError("security: a password is only sent over starttls or tls")
        self._options = options
        self._language = language
        self._public_url = public_url
        self._zone = ZoneInfo(timezone)

    def send(self, batch: Sequence[Notification]) -> None:
        """Send the mail; raises DeliveryError unless the server took it for somebody."""
        mail = self._mail(batch)
        try:
            refused = self._transmit(mail)
        except smtplib.SMTPResponseException as error:
            reply = error.smtp_error
            text = reply.decode("utf-8", "replace") if isinstance(reply, bytes) else str(reply)
            raise DeliveryError(
                "SMTP {code}: {reason}", code=error.smtp_code, reason=plain(text, 200)
            ) from error
        except (OSError, smtplib.SMTPException) as error:
            raise DeliveryError(
                "{kind}: {reason}", kind=type(error).__name__, reason=plain(str(error), 200)
            ) from error
        if refused:
            # The others have it; sending again would only repeat it to them.
            _log.warning("the mail server refused %s", ", ".join(sorted(refused)))

    def _transmit(self, mail: EmailMessage) -> dict[str, tuple[int, bytes]]:
        options = self._options
        context = ssl.create_default_context()
        client: smtplib.SMTP
        if options.security == "tls":
            client = smtplib.SMTP_SSL(
                options.host, options.port, timeout=options.timeout_s, context=context
            )
        else:
            client = smtplib.SMTP(options.host, options.port, timeout=options.timeout_s)
        with client, _cut_after(options.timeout_s, client):
            if options.security == "starttls":
                client.starttls(context=context)
            if options.username:
                client.login(options.username, options.password)
            return client.send_message(mail)

    def _mail(self, batch: Sequence[Notification]) -> EmailMessage:
        message = compose(batch, self._language, self._public_url, zone=self._zone)
        keys = "\n".join(notification.dedup_key for notification in batch)
        domain = self._options.sender.rsplit("@", 1)[1]
        mail = EmailMessage()
        mail["Subject"] = plain(message.title, 200)
        mail["From"] = self._options.sender
        mail["To"] = ", ".join(self._options.recipients)
        mail["Date"] = format_datetime(batch[-1].created_at)
        # The same batch has the same id, so mail systems recognise a repeat.
        mail["Message-ID"] = f"<{hashlib.sha256(keys.encode()).hexdigest()[:32]}@{domain}>"
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(_text(message))
        mail.add_alternative(_html(message), subtype="html")
        return mail


@contextlib.contextmanager
def _cut_after(seconds: float, client: smtplib.SMTP) -> Iterator[None]:
    """Cuts the conversation when its time is over.

    `smtplib` leads it over a socket of its own, and the timeout of a socket is per operation: a
    server that sends a byte a second would never meet one.
    """

    def cut() -> None:
        stream = client.sock
        with contextlib.suppress(OSError):  # it ended by itself meanwhile
            if stream is not None:
                stream.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _text(message: Message) -> str:
    parts = []
    for item in message.items:
        links = [f"{link.label}: {link.url}" for link in item.links]
        parts.append("\n".join((item.title, *item.lines, *links)))
    return "\n\n".join(parts) + "\n"


def _html(message: Message) -> str:
    parts = []
    for item in message.items:
        lines = "".join(f"<p>{html.escape(line)}</p>" for line in item.lines)
        links = " ".join(
            f'<a href="{html.escape(link.url)}">{html.escape(link.label)}</a>'
            for link in item.links
        )
        parts.append(f"<h3>{html.escape(item.title)}</h3>{lines}<p>{links}</p>")
    return f"<html><body>{''.join(parts)}</body></html>"
