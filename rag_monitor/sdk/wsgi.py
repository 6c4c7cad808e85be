"""WSGI middleware: one trace per request, without code in the handlers. Imports no framework.

app.wsgi_app = RagMonitorMiddleware(app.wsgi_app, paths=["/chat"])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rag_monitor.sdk.client import prepare
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.request_scope import RequestOptions, RequestScope, open_request

StartResponse = Callable[..., Any]
App = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]


class RagMonitorMiddleware:
    """Wraps a WSGI application.

    Args:
        app: The application.
        **options: Fields of `RequestOptions`: `paths`, `question_keys`, `question`,
            `answer_keys`.
    """

    def __init__(self, app: App, **options: Any) -> None:
        self.app = app
        self._options = RequestOptions(**options)
        prepare()

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        request = self._open(environ)
        if request is None:
            return self.app(environ, start_response)

        def started(status: str, headers: Any, *rest: Any) -> Any:
            try:
                lowered = dict(_lower(headers))
                kind, encoding = (
                    lowered.get("content-type", ""),
                    lowered.get("content-encoding", ""),
                )
                request.begins(int(status[:3]), kind, encoding)
            except Exception as error:  # noqa: BLE001 - the boundary
                GUARD.report("wsgi", error)
            return start_response(status, headers, *rest)

        environ["wsgi.input"] = _Input(environ.get("wsgi.input"), request)
        request.scope.resume()
        try:
            body = self.app(environ, started)
        except BaseException as error:
            request.scope.pause()
            request.ends(error)
            raise
        request.scope.pause()
        if _is_file(body, environ):
            request.ends()
            return body
        return (_SizedBody if hasattr(type(body), "__len__") else _Body)(body, request)

    def _open(self, environ: dict[str, Any]) -> RequestScope | None:
        try:
            method = str(environ.get("REQUEST_METHOD", ""))
            path = str(environ.get("PATH_INFO", ""))
            if not self._options.wants(method, path):
                return None
            query_string = str(environ.get("QUERY_STRING") or "").encode("latin-1", "replace")
            kind = str(environ.get("CONTENT_TYPE") or "").encode("latin-1", "replace")
            headers = ((b"content-type", kind),)
            return open_request(path, self._options, query_string, None, headers)
        except Exception as error:  # noqa: BLE001 - the boundary
            GUARD.report("wsgi", error)
            return None


def _lower(headers: Any) -> Iterator[tuple[str, str]]:
    for name, value in headers:
        yield name.lower(), value


def _is_file(body: Any, environ: dict[str, Any]) -> bool:
    """Whether the server sends `body` as a file, which it knows by the object itself."""
    wrapper = environ.get("wsgi.file_wrapper")
    if isinstance(wrapper, type):
        return issubclass(type(body), wrapper)
    return wrapper is not None and hasattr(
        type(body), "read"
    )  # a function: it gave what it was given


class _Input:
    """The request body as the application reads it."""

    def __init__(self, stream: Any, request: RequestScope) -> None:
        self._stream = stream
        self._request = request

    def _saw(self, data: bytes) -> bytes:
        try:
            self._request.took(data)
        except Exception as error:  # noqa: BLE001 - the boundary
            GUARD.report("wsgi", error)
        return data

    def read(self, *size: int) -> bytes:
        return self._saw(self._stream.read(*size))

    def readinto(self, buffer: Any) -> int:
        size: int = self._stream.readinto(buffer)
        if size:
            self._saw(bytes(buffer[:size]))
        return size

    def readline(self, *size: int) -> bytes:
        return self._saw(self._stream.readline(*size))

    def readlines(self, *hint: int) -> list[bytes]:
        return [self._saw(line) for line in self._stream.readlines(*hint)]

    def __iter__(self) -> Iterator[bytes]:
        for line in self._stream:
            yield self._saw(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Body:
    """The response body as the server iterates it; closing it early means the client left."""

    def __init__(self, body: Iterable[bytes], request: RequestScope) -> None:
        self._body = body
        self._request = request
        self._iterator: Iterator[bytes] | None = None
        self._complete = False

    def __iter__(self) -> _Body:
        return self

    def __next__(self) -> bytes:
        scope = self._request.scope
        scope.resume()
        try:
            if self._iterator is None:
                self._iterator = iter(self._body)
            chunk = next(self._iterator)
        except StopIteration:
            scope.pause()
            self._complete = True
            self._request.ends()
            raise
        except BaseException as error:
            scope.pause()
            self._request.ends(error)
            raise
        scope.pause()
        try:
            self._request.gave(chunk, more=True)
        except Exception as error:  # noqa: BLE001 - the boundary
            GUARD.report("wsgi", error)
        return chunk

    def close(self) -> None:
        """Close the application's body and end the trace."""
        try:
            close = getattr(self._body, "close", None)
            if close is not None:
                close()
        finally:
            if not self._complete:
                self._request.ends(cancelled=True)


class _SizedBody(_Body):
    """A body of known length: servers derive the Content-Length from that of a single chunk."""

    def __len__(self) -> int:
        return len(self._body)  # type: ignore[arg-type]
