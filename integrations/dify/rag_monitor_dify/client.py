"""Clients of Dify's Service API. What they return is what Dify sent."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Final

import httpx

from rag_monitor_dify.answer import DifyAnswer, DifyError

PATHS: Final = {
    "chat": "/chat-messages",
    "completion": "/completion-messages",
    "workflow": "/workflows/run",
}
_TIMEOUT: Final = httpx.Timeout(10.0, read=120.0)


class DifyClient:
    """Asks a Dify app and records every answer.

    Args:
        base_url: The API's base, with `/v1`.
        api_key: The app's API key.
        app: Name of the traces.
        kind: `chat` (chatbots, agents, chatflows), `completion` or `workflow`.
        http: Your own httpx client; None: one of ours, closed with `close()`.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        app: str = "dify",
        kind: str = "chat",
        http: httpx.Client | None = None,
    ) -> None:
        self._endpoint = _Endpoint(base_url, api_key, app, kind)
        self._http = http or httpx.Client(timeout=_TIMEOUT)
        self._owned = http is None

    def stream(
        self, query: str, user: str, inputs: Mapping[str, Any] | None = None, **body: Any
    ) -> Iterator[dict[str, Any]]:
        """Dify's events as they come.

        Args:
            query: The question.
            user: Dify's user; also the trace's.
            inputs: Variables of the app.
            **body: Further fields of the request, such as `conversation_id`.

        Raises:
            DifyError: Dify refused, or reported a failure inside the stream.
            httpx.HTTPError: Dify cannot be reached, or the connection broke.
        """
        request = self._endpoint.body(query, user, inputs, body, "streaming")
        answer = self._endpoint.answer(query, user, inputs)
        try:
            with self._http.stream("POST", **self._endpoint.request(request)) as reply:
                if reply.is_error:
                    reply.read()
                _require_ok(reply)
                heard = False
                for line in reply.iter_lines():
                    event = _event(line)
                    if event is not None:
                        heard = True
                        answer.heard(event)
                        yield event
            _require_events(reply, heard=heard)
            answer.raise_for_error()
        except BaseException as error:
            answer.ends(error)
            raise
        answer.ends()

    def ask(
        self, query: str, user: str, inputs: Mapping[str, Any] | None = None, **body: Any
    ) -> dict[str, Any]:
        """Dify's whole reply; agent apps can only stream. Arguments and errors as `stream`."""
        request = self._endpoint.body(query, user, inputs, body, "blocking")
        answer = self._endpoint.answer(query, user, inputs)
        try:
            reply = self._http.post(**self._endpoint.request(request))
            _require_ok(reply)
            result = _result(reply)
        except BaseException as error:
            answer.ends(error)
            raise
        answer.replied(result)
        answer.ends()
        return result

    def close(self) -> None:
        """Close the HTTP client, unless it is yours."""
        if self._owned:
            self._http.close()


class AsyncDifyClient:
    """As `DifyClient`, for asyncio."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        app: str = "dify",
        kind: str = "chat",
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._endpoint = _Endpoint(base_url, api_key, app, kind)
        self._http = http or httpx.AsyncClient(timeout=_TIMEOUT)
        self._owned = http is None

    async def stream(
        self, query: str, user: str, inputs: Mapping[str, Any] | None = None, **body: Any
    ) -> AsyncIterator[dict[str, Any]]:
        """As `DifyClient.stream`."""
        request = self._endpoint.body(query, user, inputs, body, "streaming")
        answer = self._endpoint.answer(query, user, inputs)
        try:
            async with self._http.stream("POST", **self._endpoint.request(request)) as reply:
                if reply.is_error:
                    await reply.aread()
                _require_ok(reply)
                heard = False
                async for line in reply.aiter_lines():
                    event = _event(line)
                    if event is not None:
                        heard = True
                        answer.heard(event)
                        yield event
            _require_events(reply, heard=heard)
            answer.raise_for_error()
        except BaseException as error:
            answer.ends(error)
            raise
        answer.ends()

    async def ask(
        self, query: str, user: str, inputs: Mapping[str, Any] | None = None, **body: Any
    ) -> dict[str, Any]:
        """As `DifyClient.ask`."""
        request = self._endpoint.body(query, user, inputs, body, "blocking")
        answer = self._endpoint.answer(query, user, inputs)
        try:
            reply = await self._http.post(**self._endpoint.request(request))
            _require_ok(reply)
            result = _result(reply)
        except BaseException as error:
            answer.ends(error)
            raise
        answer.replied(result)
        answer.ends()
        return result

    async def close(self) -> None:
        """Close the HTTP client, unless it is yours."""
        if self._owned:
            await self._http.aclose()


class _Endpoint:
    """Where and how to ask one app."""

    def __init__(self, base_url: str, api_key: str, app: str, kind: str) -> None:
        if kind not in PATHS:
            raise ValueError(f"kind must be one of {', '.join(PATHS)}, not {kind!r}")
        self._url = base_url.rstrip("/") + PATHS[kind]
        self._headers = {"Authorization": f"Bearer {api_key}"}
        self._app = app
        self._workflow = kind == "workflow"

    def body(
        self,
        query: str,
        user: str,
        inputs: Mapping[str, Any] | None,
        further: Mapping[str, Any],
        mode: str,
    ) -> dict[str, Any]:
        body = {**further, "inputs": dict(inputs or {}), "user": user, "response_mode": mode}
        if self._workflow:
            body["inputs"].setdefault("query", query)
        else:
            body["query"] = query
        return body

    def request(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return {"url": self._url, "headers": self._headers, "json": body}

    def answer(self, query: str, user: str, inputs: Mapping[str, Any] | None) -> DifyAnswer:
        return DifyAnswer(query or inputs, app=self._app, user_id=user)


def _event(line: str) -> dict[str, Any] | None:
    """The event of a `data:` line; None for keep-alives, blank lines and what is no JSON."""
    if not line.startswith("data:"):
        return None
    try:
        parsed = json.loads(line[5:])
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _require_ok(reply: httpx.Response) -> None:
    if not reply.is_error:
        return
    try:
        body = reply.json()
    except ValueError:
        body = {}
    if not isinstance(body, dict) or not body.get("message"):
        raise _not_dify(reply)
    raise DifyError(str(body["message"]), code=body.get("code"), status=reply.status_code)


def _require_events(reply: httpx.Response, *, heard: bool) -> None:
    """A stream of Dify's has at least its end; a page has no events at all."""
    if not heard:
        raise _not_dify(reply)


def _result(reply: httpx.Response) -> dict[str, Any]:
    try:
        result = reply.json()
    except ValueError:
        result = None
    if not isinstance(result, dict):
        raise _not_dify(reply)
    return result


def _not_dify(reply: httpx.Response) -> DifyError:
    """What to say of a reply that Dify's API never gives, such as the page of its own web site."""
    shown = f"HTTP {reply.status_code}, {reply.headers.get('content-type') or 'no content type'}"
    if reply.status_code >= 500:
        return DifyError(f"{reply.url} failed ({shown})", status=reply.status_code)
    return DifyError(
        f"{reply.url} does not answer as Dify's API does ({shown}); is base_url the API's base, "
        "such as https://api.dify.ai/v1?",
        status=reply.status_code,
    )
