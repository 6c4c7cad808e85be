"""A client of Coze's v3 chat. What it returns is what Coze sent."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import httpx

from rag_monitor_coze.answer import CozeAnswer, CozeError

_TIMEOUT: Final = httpx.Timeout(10.0, read=120.0)
_RUNNING: Final = ("created", "in_progress")


class CozeEvent(NamedTuple):
    """One event of a stream."""

    name: str
    """As Coze names it, for example `conversation.message.delta`."""
    data: Any
    """The parsed JSON; text where it is none."""


class CozeClient:
    """Asks a Coze bot and records every answer.

    Args:
        bot_id: The bot.
        token: A personal access token, or one of OAuth.
        base_url: `https://api.coze.cn`, `https://api.coze.com` or your own Coze Studio.
        app: Name of the traces.
        http: Your own httpx client; None: one of ours, closed with `close()`.
        poll_s: Seconds between two looks at a chat that is not streamed; Coze asks for 1 or more.
    """

    def __init__(
        self,
        bot_id: str,
        token: str,
        *,
        base_url: str = "https://api.coze.cn",
        app: str = "coze",
        http: httpx.Client | None = None,
        poll_s: float = 1.0,
    ) -> None:
        self._bot_id = bot_id
        self._base = base_url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"}
        self._app = app
        self._http = http or httpx.Client(timeout=_TIMEOUT)
        self._owned = http is None
        self._poll_s = poll_s

    def stream(
        self, question: str, user_id: str, *, conversation_id: str | None = None, **body: Any
    ) -> Iterator[CozeEvent]:
        """Coze's events as they come.

        Args:
            question: The user's message.
            user_id: Coze's user; also the trace's.
            conversation_id: Go on with a conversation.
            **body: Further fields of the request, such as `custom_variables`.

        Raises:
            CozeError: Coze refused, or reported a failure inside the stream.
            httpx.HTTPError: Coze cannot be reached, or the connection broke.
        """
        answer = self._answer(question, user_id)
        request = self._request(question, user_id, conversation_id, body, stream=True)
        try:
            with self._http.stream("POST", **request) as reply:
                _require_stream(reply)
                for event in _events(reply.iter_lines()):
                    answer.heard(*event)
                    yield event
            answer.raise_for_error()
        except BaseException as error:
            answer.ends(error)
            raise
        answer.ends()

    def ask(
        self,
        question: str,
        user_id: str,
        *,
        conversation_id: str | None = None,
        timeout_s: float = 120.0,
        **body: Any,
    ) -> list[dict[str, Any]]:
        """The messages of a chat that is not streamed, once it is over.

        Args:
            question: The user's message.
            user_id: Coze's user; also the trace's.
            conversation_id: Go on with a conversation.
            timeout_s: How long the bot may take.
            **body: Further fields of the request.

        Raises:
            CozeError: Coze refused or failed, or the bot took longer than `timeout_s`.
            httpx.HTTPError: Coze cannot be reached.
        """
        answer = self._answer(question, user_id)
        request = self._request(question, user_id, conversation_id, body, stream=False)
        try:
            chat = _chat_of(self._http.post(**request))
            chat = self._wait(chat, timeout_s)
            answer.chat(chat)
            listed = _data_of(self._get("/v3/chat/message/list", chat))
            items = [m for m in listed if isinstance(m, dict)] if isinstance(listed, list) else []
            answer.listed(items)
            answer.raise_for_error()
        except BaseException as error:
            answer.ends(error)
            raise
        answer.ends()
        return items

    def close(self) -> None:
        """Close the HTTP client, unless it is yours."""
        if self._owned:
            self._http.close()

    def _answer(self, question: str, user_id: str) -> CozeAnswer:
        return CozeAnswer(question, app=self._app, user_id=user_id)

    def _request(
        self,
        question: str,
        user_id: str,
        conversation_id: str | None,
        further: Mapping[str, Any],
        *,
        stream: bool,
    ) -> dict[str, Any]:
        message = {"role": "user", "type": "question", "content_type": "text", "content": question}
        body = {
            "auto_save_history": True,
            **further,
            "bot_id": self._bot_id,
            "user_id": user_id,
            "stream": stream,
            "additional_messages": [*further.get("additional_messages", ()), message],
        }
        params = {"conversation_id": conversation_id} if conversation_id else {}
        url = f"{self._base}/v3/chat"
        return {"url": url, "params": params, "headers": self._headers, "json": body}

    def _wait(self, chat: Any, timeout_s: float) -> Any:
        until = time.monotonic() + timeout_s
        while chat.get("status") in _RUNNING:
            if time.monotonic() > until:
                raise CozeError(f"the bot took longer than {timeout_s} s")
            time.sleep(self._poll_s)
            chat = _data_of(self._get("/v3/chat/retrieve", chat))
        return chat

    def _get(self, path: str, chat: Mapping[str, Any]) -> httpx.Response:
        params = {"conversation_id": chat.get("conversation_id"), "chat_id": chat.get("id")}
        return self._http.get(f"{self._base}{path}", params=params, headers=self._headers)


def _events(lines: Iterator[str]) -> Iterator[CozeEvent]:
    name = ""
    for line in lines:
        if line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            raw = line[5:].strip()
            try:
                yield CozeEvent(name, json.loads(raw))
            except ValueError:
                yield CozeEvent(name, raw)


def _require_stream(reply: httpx.Response) -> None:
    """Errors come as JSON in place of the stream."""
    if "event-stream" not in reply.headers.get("content-type", ""):
        reply.read()
        _data_of(reply)
        raise _not_coze(reply)


def _chat_of(reply: httpx.Response) -> dict[str, Any]:
    chat = _data_of(reply)
    if not isinstance(chat, dict):
        raise _not_coze(reply)
    return chat


def _data_of(reply: httpx.Response) -> Any:
    """The `data` of an API reply; errors come with HTTP 200 and a code."""
    try:
        body = reply.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise _not_coze(reply)
    code = body.get("code")
    if reply.is_error or code:
        raise CozeError(str(body.get("msg") or f"HTTP {reply.status_code}"), code=code)
    return body.get("data")


def _not_coze(reply: httpx.Response) -> CozeError:
    """What to say of a reply that Coze's API never gives, such as a page."""
    shown = f"HTTP {reply.status_code}, {reply.headers.get('content-type') or 'no content type'}"
    if reply.status_code >= 500:
        return CozeError(f"{reply.url} failed ({shown})")
    return CozeError(
        f"{reply.url} does not answer as Coze's API does ({shown}); is base_url the API's address, "
        "such as https://api.coze.cn?"
    )
