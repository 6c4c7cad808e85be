"""Errors as callers see them: RFC 9457 problem JSON, google.rpc.Status for OTLP, pages in the UI.

No answer is a 500, and no answer shows a stack, a statement or a file name of ours.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import Depends, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rag_monitor import errors
from rag_monitor.field_values import wrong_value
from rag_monitor.i18n import ENGLISH, Message, languages, msgid, translate
from rag_monitor.protobuf import rpc_status

PROBLEM_TYPE: Final = "application/problem+json"
RETRY_AFTER_S: Final = 5
OTLP_PREFIXES: Final = ("/v1/", "/api/public/otel")
MACHINE_PREFIXES: Final = ("/api/", "/v1/", "/metrics", "/healthz", "/readyz", "/openapi.json")
_RPC_CODES: Final = {400: 3, 401: 16, 403: 7, 404: 5, 408: 4, 413: 8, 415: 3, 429: 8, 503: 14}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What went wrong and how to mend it."""

    status: int
    detail: str
    kind: str = ""
    """Stable word at the end of the problem's `type`; empty: from the status."""
    errors: Sequence[Mapping[str, Any]] = ()
    """Per wrong field `field` and `message`."""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The status in words."""
        try:
            return HTTPStatus(self.status).phrase
        except ValueError:
            return "Error"

    def body(self, instance: str, language: str = ENGLISH) -> dict[str, Any]:
        """The members of RFC 9457, with `errors` where fields are at fault."""
        invalid = "invalid-input" if self.status == HTTPStatus.UNPROCESSABLE_ENTITY else ""
        kind = self.kind or invalid or self.title.lower().replace(" ", "-")
        members: dict[str, Any] = {
            "type": f"urn:rag-monitor:problem:{kind}",
            "title": self.title,
            "status": self.status,
            "detail": translate(self.detail, language),
            "instance": instance,
        }
        if self.errors:
            members["errors"] = [translated(error, language) for error in self.errors]
        return members


class ProblemError(HTTPException):
    """Raise it in a route to answer with this problem.

    Args:
        status: Of HTTP.
        detail: What is wrong, in English, with parameters as `rag_monitor.errors` has them.
        kind: See `Problem`, as the following ones.
        errors: Their messages may be `Message`s.
        headers: Of the answer.
        params: Of `detail`.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        /,
        *,
        kind: str = "",
        errors: Sequence[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
        **params: object,
    ) -> None:
        message = detail if isinstance(detail, Message) else Message(detail, **params)
        super().__init__(status, message, dict(headers or {}))
        self.problem = Problem(
            status=status, detail=message, kind=kind, errors=errors, headers=headers or {}
        )


_BY_ERROR: Final[tuple[tuple[type[errors.RagMonitorError], int, str], ...]] = (
    (errors.MalformedPayload, 400, "malformed-payload"),
    (errors.PayloadTooLarge, 413, "payload-too-large"),
    (errors.UnsupportedMediaType, 415, "unsupported-media-type"),
    (errors.QueueFull, 503, "queue-full"),
    (errors.NotIngesting, 503, "not-ingesting"),
    (errors.NotFound, 404, "not-found"),
    (errors.RuleError, 422, "rule-invalid"),
    (errors.UnknownMetric, 422, "metric-unknown"),
    (errors.UnknownJudge, 422, "judge-unknown"),
    (errors.OutboundRefused, 422, "address-refused"),
    (errors.ConfigurationError, 422, "configuration-invalid"),
    (errors.BudgetExhausted, 429, "budget-exhausted"),
    (errors.SchemaMismatch, 503, "schema-mismatch"),
)


def problem_of(error: Exception) -> Problem:
    """The problem an error is answered with; unknown errors are logged and become 503."""
    if isinstance(error, ProblemError):
        return error.problem
    if isinstance(error, RequestValidationError):
        return _invalid(error)
    if isinstance(error, StarletteHTTPException):
        return _http(error)
    for kind, status, word in _BY_ERROR:
        if isinstance(error, kind):
            return Problem(
                status=status, detail=str(error), kind=word, headers=_retry_headers(status)
            )
    if isinstance(error, errors.StoreDamaged):
        return Problem(
            status=503,
            detail=Message(
                "Pages of the database are damaged; the log of the monitor says what to do."
            ),
            kind="store-damaged",
        )
    if isinstance(error, errors.StoreUnavailable):
        full = isinstance(error, errors.StoreFull)
        return Problem(
            status=503,
            detail=(
                Message("The disk of the database is full. Nothing was changed; try again later.")
                if full
                else Message(
                    "The database does not answer right now. Nothing was changed; try again."
                )
            ),
            kind="store-full" if full else "store-unavailable",
            headers=_retry_headers(503),
        )
    logger.error("unexpected %s while answering a request", type(error).__name__, exc_info=error)
    return Problem(
        status=503,
        detail=Message("The server could not answer this request. The cause is in its log."),
        kind="unexpected",
        headers=_retry_headers(503),
    )


def _retry_headers(status: int) -> dict[str, str]:
    return {"Retry-After": str(RETRY_AFTER_S)} if status in {429, 503} else {}


def _invalid(error: RequestValidationError) -> Problem:
    field_errors = [
        {"field": _field(tuple(item["loc"])), "message": _message(item)} for item in error.errors()
    ]
    broken = any(item.get("type") == "json_invalid" for item in error.errors())
    first = field_errors[0] if field_errors else {"field": "", "message": Message("is not valid")}
    text = msgid("`{field}`: {reason}. See /docs for what is expected.")
    if len(field_errors) > 1:
        text = msgid("`{field}`: {reason} (and {more} more). See /docs for what is expected.")
    reason, more = first["message"], len(field_errors) - 1
    return Problem(
        status=400 if broken else 422,
        detail=Message(text, field=first["field"], reason=reason, more=more),
        kind="malformed-payload" if broken else "invalid-input",
        errors=field_errors,
    )


def _field(location: tuple[int | str, ...]) -> str:
    parts = [str(part) for part in location]
    if len(parts) > 1 and parts[0] in {"body", "query", "path", "header"}:
        parts = parts[1:]
    return ".".join(parts)[:200].encode("utf-8", "replace").decode()


def _message(item: Mapping[str, Any]) -> str:
    message = wrong_value(item)
    if item.get("type") == "json_invalid":
        reason = item.get("ctx", {}).get("error", "")
        message = Message("the body is not valid JSON ({reason})", reason=reason)
    sent = message[:600].encode("utf-8", "replace").decode()
    return message if sent == message else sent


_HTTP_DETAILS: Final = {
    400: Message("The body could not be read as what its content type says."),
    404: Message("There is nothing at this address. /docs lists what there is."),
    405: Message(
        "This address does not take that method. The `Allow` header lists those it takes."
    ),
}


def _http(error: StarletteHTTPException) -> Problem:
    detail = _HTTP_DETAILS.get(error.status_code) or str(error.detail)
    status = error.status_code if error.status_code < 500 else 503
    return Problem(status=status, detail=detail, headers=dict(error.headers or {}))


def translated(value: Any, language: str) -> Any:
    """A value of an answer, its messages in a language."""
    if isinstance(value, Mapping):
        return {name: translated(part, language) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [translated(part, language) for part in value]
    return translate(value, language) if isinstance(value, Message) else value


def is_otlp(path: str) -> bool:
    """Whether errors of this path are a google.rpc.Status."""
    return path.startswith(OTLP_PREFIXES)


def wants_page(path: str, accept: str) -> bool:
    """Whether a person with a browser asks for a page."""
    return "text/html" in accept and not path.startswith(MACHINE_PREFIXES)


def preferred_language(header: str) -> str | None:
    """The language with the largest weight in `Accept-Language` known here (RFC 9110)."""
    weighted = []
    for place, part in enumerate(header[:500].split(",")):
        tag, _, weight = part.strip().partition(";q=")
        language = tag.partition("-")[0].lower()
        try:
            q = float(weight) if weight else 1.0
        except ValueError:
            continue
        if language in languages() and q > 0:
            weighted.append((-q, place, language))
    return min(weighted)[2] if weighted else None


def asked_language(request: Request) -> str:
    """The language that whoever asks accepts; English where they name none that is known."""
    return preferred_language(request.headers.get("accept-language", "")) or ENGLISH


AskedLanguage = Annotated[str, Depends(asked_language)]


def respond(
    problem: Problem, path: str, content_type: str = "", accept_language: str = ""
) -> Response:
    """The problem as the kind of response this path's callers can read.

    The sentence is in the language that they accept, and in English otherwise.
    """
    headers = dict(problem.headers)
    if is_otlp(path):
        return _status_reply(problem, content_type, headers)
    instance = path[:500].encode("utf-8", "replace").decode()
    language = preferred_language(accept_language) or ENGLISH
    body = json.dumps(problem.body(instance, language), ensure_ascii=False).encode(
        "utf-8", "replace"
    )
    return Response(body, problem.status, headers, media_type=PROBLEM_TYPE)


async def refuse(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request with the problem, before any route has seen it."""
    content_type = Headers(scope=scope).get("content-type", "")
    await respond(problem, scope["path"], content_type)(scope, receive, send)


def _status_reply(problem: Problem, content_type: str, headers: dict[str, str]) -> Response:
    code = _RPC_CODES.get(problem.status, 2)
    if content_type.split(";")[0].strip().lower() == "application/json":
        body = json.dumps({"code": code, "message": problem.detail}, ensure_ascii=False).encode()
        return Response(body, problem.status, headers, media_type="application/json")
    body = rpc_status(code, problem.detail)
    return Response(body, problem.status, headers, media_type="application/x-protobuf")


def answer(request: Request, error: Exception) -> Response:
    """The response to an error raised while answering `request`."""
    problem = _unreadable(request, error) or problem_of(error)
    headers = request.headers
    return respond(
        problem,
        request.url.path,
        headers.get("content-type", ""),
        headers.get("accept-language", ""),
    )


def _unreadable(request: Request, error: Exception) -> Problem | None:
    """Why a body could not be read at all, where its headers say so; None where they do not.

    Whoever forgets the content type would be told that an object is no object.
    """
    if not request.url.path.startswith("/api/v1/") or not _of_whole_body(error):
        return None
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        return Problem(
            status=415, detail=Message("Send the JSON uncompressed; only /v1 takes gzip.")
        )
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json")):
        return None
    text = msgid("Send `Content-Type: application/json`; it says nothing.")
    if kind:
        text = msgid("Send `Content-Type: application/json`; not {kind!r}.")
    return Problem(status=415, detail=Message(text, kind=kind[:100]))


def _of_whole_body(error: Exception) -> bool:
    if isinstance(error, RequestValidationError):
        return any(
            tuple(item["loc"])[:1] == ("body",)
            and (len(item["loc"]) == 1 or item["type"] == "json_invalid")
            and item["type"] != "missing"
            for item in error.errors()
        )
    return isinstance(error, StarletteHTTPException) and error.status_code == 400
