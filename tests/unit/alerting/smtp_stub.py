"""A tiny SMTP server that takes mail, refuses it or hangs, as the test says."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default


class Mailbox:
    """What the server took, and what it answers to which command."""

    def __init__(self) -> None:
        self.mails: list[bytes] = []
        self.commands: list[str] = []
        self.replies: dict[str, str] = {}
        """Answer by a part of the command, lower case."""
        self.hangs: threading.Event | None = None
        self.port = 0

    @property
    def mail(self) -> EmailMessage:
        parsed = message_from_bytes(self.mails[0], policy=default)
        assert isinstance(parsed, EmailMessage)
        return parsed

    def reply_to(self, command: str) -> str:
        for part, reply in self.replies.items():
            if part in command.lower():
                return reply
        return {"data": "354 go on", "quit": "221 bye"}.get(command.lower(), "250 ok")


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, box: Mailbox) -> None:
        super().__init__(("127.0.0.1", 0), _Conversation)
        self.box = box
        box.port = self.server_address[1]


class _Conversation(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        box = self.server.box
        if box.hangs is not None:
            box.hangs.wait(20)
            return
        self._say("220 mail.test")
        for line in self.rfile:
            command = line.decode().strip()
            box.commands.append(command)
            reply = box.reply_to(command)
            self._say(reply)
            if reply.startswith("354"):
                box.mails.append(b"".join(iter(self.rfile.readline, b".\r\n")))
                self._say("250 taken")
            elif reply.startswith("221"):
                return

    def _say(self, text: str) -> None:
        self.wfile.write(text.encode() + b"\r\n")


@contextmanager
def serving() -> Iterator[Mailbox]:
    """A running server on a free port of the loopback interface."""
    box = Mailbox()
    server = _Server(box)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield box
    finally:
        if box.hangs is not None:
            box.hangs.set()
        server.shutdown()
        server.server_close()
        thread.join(5)
