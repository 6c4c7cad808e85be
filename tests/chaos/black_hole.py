"""A way to a server that can be made to lead nowhere: connections stay, and nothing comes back."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator


class Passage:
    """Listens on a port of its own and passes on what it hears, both ways, until it hangs."""

    def __init__(self, host: str, port: int) -> None:
        self._to = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open = threading.Event()
        self._open.set()
        self._sockets: list[socket.socket] = []

    def hang(self) -> None:
        """From now on nothing arrives on either side; connections are still taken."""
        self._open.clear()

    def heal(self) -> None:
        """What was held up goes on."""
        self._open.set()

    def run(self) -> None:
        """Take connections until closed."""
        with contextlib.suppress(OSError):
            while True:
                here, _ = self._listener.accept()
                there = socket.create_connection(self._to)
                self._sockets += [here, there]
                for one, other in ((here, there), (there, here)):
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def close(self) -> None:
        """End every connection."""
        self.heal()
        for one in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                self._open.wait()
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def passage(host: str, port: int) -> Iterator[Passage]:
    """An open one, closed at the end."""
    made = Passage(host, port)
    threading.Thread(target=made.run, daemon=True).start()
    try:
        yield made
    finally:
        made.close()
