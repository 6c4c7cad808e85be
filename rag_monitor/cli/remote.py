"""A running monitor, as commands see it: its HTTP interface with errors one can act on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from time import sleep
from types import TracebackType
from typing import Annotated, Any, Final, Self

import httpx
import typer

from rag_monitor.cli.output import print_problem, print_remark
from rag_monitor.cli.settings import at_hand
from rag_monitor.cli.words import chosen, said
from rag_monitor.errors import ConfigurationError, NotFound, RagMonitorError
from rag_monitor.outbound.patience import LATER, Waiting, retry_after

DEFAULT_URL = "http://127.0.0.1:8700"
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
        print_remark(f"the settings here cannot be read ({error}); trying {DEFAULT_URL}")
        return DEFAULT_URL
    host = "127.0.0.1" if settings.host in _EVERYWHERE else settings.host.strip("[]")
    # Port 0 lets the system choose, and nobody wrote down what it chose.
    port = settings.port or httpx.URL(DEFAULT_URL).port
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
    """A monitor over HTTP.

    Args:
        url: Its address, without `/api`.
        api_key: Sent as a bearer token; empty: none.
        transport: Replaces the network, for tests.
        pause: Waits; replaced in tests.

    Raises:
        ConfigurationError: The address is not an HTTP URL.
    """

    def __init__(
        self,
        url: str,
        api_key: str = "",
        transport: httpx.BaseTransport | None = None,
        *,
        pause: Callable[[float], None] = sleep,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ConfigurationError(
                f"--url must begin with http:// or https:// and name the monitor, not {url!r}"
            )
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._url = url.rstrip("/")
        self._sleep = pause
        self._told = False
        self._http = httpx.Client(
            base_url=self._url,
            headers=headers,
            timeout=60.0,
            transport=transport,
            trust_env=not _is_local(self._url),
        )

    @property
    def url(self) -> str:
        """Where it is."""
        return self._url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._http.close()

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        """The JSON at `path`; waits for a while where the monitor answers "later".

        Raises:
            NotFound: There is nothing there.
            RagMonitorError: Unreachable, or it refused; the message says why.
        """
        waiting = Waiting(PATIENCE_S)
        while True:
            reply = self.send_safely("GET", path, params=query)
            if reply.status_code not in LATER:
                return _content(reply)
            pause = waiting.next_pause_s(retry_after(reply.headers.get("retry-after")))
            if pause is None:
                raise _gave_up(reply, waiting)
            if waiting.waited_s >= _WORTH_A_WORD_S and not self._told:
                self._told = True
                trouble = said("it answers {status}", chosen(), status=reply.status_code)
                remark = "waiting for {url}, up to {seconds:g} s: {trouble}"
                where = {"url": self._url, "seconds": PATIENCE_S, "trouble": trouble}
                print_remark(said(remark, chosen(), **where))
            self._sleep(pause)

    def call(self, method: str, path: str, **request: Any) -> Any:
        """Send a request and return the JSON of the answer, None when it is empty."""
        return _content(self.send_safely(method, path, **request))

    def send_safely(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Send a request and return the answer, whatever it is.

        Raises:
            RagMonitorError: No answer; the message says what to do.
        """
        try:
            return self.send(method, path, **request)
        except httpx.TransportError as error:
            raise RagMonitorError(
                f"no monitor answers at {self._url} ({error}); start one with `rag-monitor serve`"
                " or name another with --url"
            ) from None

    def send(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Send a request and return the answer, whatever it is.

        Raises:
            httpx.TransportError: No answer.
        """
        return self._http.request(method, path, **request)

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


def _content(reply: httpx.Response) -> Any:
    if not reply.is_success:
        raise refusal(reply)
    return reply.json() if reply.content else None


def _gave_up(reply: httpx.Response, waiting: Waiting) -> RagMonitorError:
    """The last refusal, with what was tried."""
    asked = reply.headers.get("retry-after")
    wish = f"; it asks to wait {asked[:40]} s more" if asked else ""
    return RagMonitorError(f"{refusal(reply)}; asked {waiting}{wish}")


def _is_local(url: str) -> bool:
    """Whether a proxy from the environment would only be in the way."""
    return httpx.URL(url).host in ("127.0.0.1", "localhost", "::1")


def refusal(reply: httpx.Response) -> RagMonitorError:
    """The error behind an unsuccessful answer, in the server's words where it gives any."""
    text = explain(reply)
    if reply.status_code in (401, 403):
        return ConfigurationError(
            f"the monitor refused the key: {text}; set --api-key or RAG_MONITOR_API_KEY"
        )
    if reply.status_code == httpx.codes.NOT_FOUND:
        return NotFound(text)
    return RagMonitorError(f"the monitor answered {reply.status_code}: {text}")


def explain(reply: httpx.Response) -> str:
    """What a problem JSON says, or the beginning of any other body."""
    try:
        problem = reply.json()
    except ValueError:
        problem = None
    if isinstance(problem, dict):
        for key in ("detail", "title", "message"):
            if problem.get(key):
                return str(problem[key])
    return reply.text[:300].strip() or reply.reason_phrase
