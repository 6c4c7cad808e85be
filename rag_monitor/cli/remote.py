"""A running monitor, as commands see it: its HTTP interface with errors one can act on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from time import sleep
from types import TracebackType
from typing import Annotated, Any, Final, Self
from urllib.parse import urlsplit

import typer

from rag_monitor.cli.output import print_problem, print_remark
from rag_monitor.cli.settings import at_hand
from rag_monitor.cli.words import chosen, say
from rag_monitor.client import Client, ClientError, Transport, problem_of
from rag_monitor.errors import ConfigurationError, NotFound, RagMonitorError
from rag_monitor.i18n import msgid
from rag_monitor.outbound.connection import NoAnswer, Reply
from rag_monitor.outbound.retry import LATER, Waiting, retry_after

DEFAULT_URL = "http://127.0.0.1:8700"
_TIMEOUT_S: Final = 60.0
PATIENCE_S: Final = 60.0
"""How long reading may wait in all for a monitor that answers "later"."""
_WORTH_A_WORD_S: Final = 3.0
_EVERYWHERE = frozenset({"", "0.0.0.0", "::", "[::]"})  # noqa: S104 - where others listen
"""Hosts that listen on every address of their machine, the loopback among them."""


def configured_url() -> str:
    """The address `rag-monitor serve` would listen at here; the default where settings are broken.

    Only what this very machine serves is meant: `public_url` may lead through somebody's sign-in.
    """
    try:
        settings = at_hand()
    except ConfigurationError as error:
        text = msgid("the settings here cannot be read ({reason}); trying {url}")
        print_remark(say(text, reason=error, url=DEFAULT_URL))
        return DEFAULT_URL
    host = "127.0.0.1" if settings.host in _EVERYWHERE else settings.host.strip("[]")
    # Port 0 lets the system choose, and nobody wrote down what it chose.
    port = settings.port or urlsplit(DEFAULT_URL).port
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _given_or_configured(context: typer.Context, option: typer.CallbackParam, url: str) -> str:
    source = context.get_parameter_source(option.name or "")
    chosen = source is not None and source.name != "DEFAULT"
    return url if chosen or context.resilient_parsing else configured_url()


Url = Annotated[
    str,
    typer.Option(
        "--url",
        envvar="RAG_MONITOR_ENDPOINT",
        callback=_given_or_configured,
        show_default="the configured host and port, http://127.0.0.1:8700",
        help="Address of the running monitor.",
    ),
]
ApiKey = Annotated[
    str,
    typer.Option(
        "--api-key",
        envvar="RAG_MONITOR_API_KEY",
        show_default=False,
        show_envvar=True,
        help="Key of the monitor, where it asks for one.",
    ),
]


class Remote:
    """A monitor over HTTP: `rag_monitor.client` with the words of commands.

    Args:
        url: Its address, without `/api`.
        api_key: Sent with every request; empty: none.
        transport: Replaces the network, in tests.
        pause: Waits; replaced in tests.
        language: What sentences are asked for in; None: in the one the command speaks.

    Raises:
        ConfigurationError: The address is not an HTTP URL, or the key cannot be one.
    """

    def __init__(
        self,
        url: str,
        api_key: str = "",
        transport: Transport | None = None,
        *,
        pause: Callable[[float], None] = sleep,
        language: str | None = None,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ConfigurationError(
                "--url must begin with http:// or https:// and name the monitor, not {url!r}",
                url=url,
            )
        self._sleep = pause
        self._wait_reported = False
        try:
            self._client = Client(
                url,
                api_key or None,
                timeout_s=_TIMEOUT_S,
                transport=transport,
                language=language or chosen(),
            )
        except ClientError as error:
            raise ConfigurationError(str(error)) from None

    @property
    def url(self) -> str:
        """Where it is."""
        return self._client.url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._client.close()

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        """The JSON at `path`; waits for a while where the monitor answers "later".

        Raises:
            NotFound: There is nothing there.
            RagMonitorError: Unreachable, or it refused; the message says why.
        """
        waiting = Waiting(PATIENCE_S)
        while True:
            reply = self.send_safely("GET", path, query=query)
            if reply.status not in LATER:
                return _content(reply)
            pause = waiting.next_pause_s(retry_after(reply.headers.get("retry-after")))
            if pause is None:
                raise _gave_up(reply, waiting)
            if waiting.waited_s >= _WORTH_A_WORD_S and not self._wait_reported:
                self._wait_reported = True
                trouble = say("it answers {status}", status=reply.status)
                remark = msgid("waiting for {url}, up to {seconds:g} s: {trouble}")
                where = {"url": self.url, "seconds": PATIENCE_S, "trouble": trouble}
                print_remark(say(remark, **where))
            self._sleep(pause)

    def call(
        self, method: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> Any:
        """Send a request and return the JSON of the answer, None when it is empty.

        Args:
            method: `POST` and so on.
            path: From `/api` on.
            body: What is sent as JSON; None: nothing.
            query: Parameters of the path.

        Raises:
            NotFound: There is nothing there.
            RagMonitorError: Unreachable, or it refused; the message says why.
        """
        return _content(self.send_safely(method, path, body, query))

    def send_safely(
        self,
        method: str,
        path: str,
        body: object = None,
        query: Mapping[str, str] | None = None,
        timeout_s: float = _TIMEOUT_S,
    ) -> Reply:
        """Send a request and return the answer, whatever it is.

        Raises:
            RagMonitorError: No answer; the message says what to do.
        """
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        try:
            return self._client.send(method, path, content, query=query, timeout_s=timeout_s)
        except NoAnswer as error:
            raise RagMonitorError(
                "no monitor answers at {url} ({reason}); start one with `rag-monitor serve` or "
                "name another with --url",
                url=self.url,
                reason=error,
            ) from None

    def send(self, method: str, path: str, content: bytes) -> Reply:
        """Send a body of JSON and return the answer, whatever it is.

        Raises:
            NoAnswer: There is none.
        """
        return self._client.send(method, path, content)

    def pages(self, path: str, query: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """Every item of a paged list, in the server's order; why there is none is remarked."""
        cursor: str | None = None
        while True:
            page = self.get(path, {**query, **({"cursor": cursor} if cursor else {})})
            for hint in page.get("hints", ()):
                print_problem(hint)
            yield from page["items"]
            cursor = page.get("next_cursor")
            if not cursor:
                return


def _content(reply: Reply) -> Any:
    if not reply.ok:
        raise refusal(reply)
    return json.loads(reply.body) if reply.body else None


def _gave_up(reply: Reply, waiting: Waiting) -> RagMonitorError:
    """The last refusal, with what was tried."""
    wait_s = reply.headers.get("retry-after")
    text = msgid("{reason}; asked {times}")
    if wait_s:
        text = msgid("{reason}; asked {times}; it asks to wait {wait_s} s more")
    return RagMonitorError(
        text, reason=refusal(reply), times=waiting.times, wait_s=(wait_s or "")[:40]
    )


def refusal(reply: Reply) -> RagMonitorError:
    """The error behind an unsuccessful answer, in the server's words where it gives any."""
    text = explain(reply)
    if reply.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return ConfigurationError(
            "the monitor refused the key: {reason}; set --api-key or RAG_MONITOR_API_KEY",
            reason=text,
        )
    if reply.status == HTTPStatus.NOT_FOUND:
        return NotFound(text)
    return RagMonitorError(
        "the monitor answered {status}: {reason}", status=reply.status, reason=text
    )


def explain(reply: Reply) -> str:
    """What a problem JSON says, or the beginning of any other body."""
    beginning = reply.body.decode("utf-8", "replace")[:300].strip()
    return problem_of(reply) or beginning or reply.reason
