"""One traced call: begins or joins a trace, makes it current while the host's code runs, ends it.

No method raises into the host (except in strict mode).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from opentelemetry.context import attach, detach

from rag_monitor.sdk.arguments import Arguments
from rag_monitor.sdk.client import active
from rag_monitor.sdk.frame_scopes import current_trace
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.peek import text_of, type_name
from rag_monitor.sdk.pieces import event_frame, read_piece, remainder
from rag_monitor.sdk.question import question_in
from rag_monitor.sdk.record import CURRENT, LiveTrace
from rag_monitor.sdk.streaming import StreamObserver
from rag_monitor.sdk.text import EVENT_LINES, answer_of, field_text, response_body

Extractor = Callable[..., Any]
_BYTES: Final = frozenset({bytes, bytearray, memoryview})
_STEPS: Final = ("__next__", "__anext__", "__aiter__")


@dataclass(slots=True, kw_only=True)  # a `with` makes one for each request; freezing doubles it
class Spec:
    """What a decorated function's calls have in common. Never changed."""

    name: str
    question: Extractor | None = None
    """Called with the call's arguments; None: `arguments` tells."""
    question_argument: tuple[str, int | None] | None = None
    """Name and position of the argument that is the question."""
    arguments: Arguments | None = None
    """Chooses the question among the arguments; None: there are none."""
    answer: Extractor | None = None
    """Called with the return value, or with each streamed chunk."""
    answer_keys: tuple[str, ...] = ()
    """The fields that hold the answer, where the host named them."""
    fields: Mapping[str, Any] | None = None


class Scope(StreamObserver):
    """A call being traced."""

    __slots__ = ("_otel_token", "_token", "live", "owner", "spec")

    def __init__(self, live: LiveTrace, spec: Spec, *, owner: bool) -> None:
        self.live = live
        self.spec = spec
        self.owner = owner
        """False when the call joined a trace that somebody else ends."""
        self._token: Any = None
        self._otel_token: Any = None

    def resume(self) -> None:
        """Make the trace current in this context; the host's code runs next."""
        try:
            live = self.live
            self._token = CURRENT.set(live)
            if live.otel_context is not None and self.owner:
                self._otel_token = attach(live.otel_context)
        except Exception as error:  # noqa: BLE001 - the boundary
            GUARD.report("resume", error)

    def pause(self) -> None:
        """Undo `resume` after the host's code has returned, yielded or raised."""
        try:
            if self._token is not None:
                token, self._token = self._token, None
                CURRENT.reset(token)  # first: `detach` would tell the host's log what this raises
            if self._otel_token is not None:
                token, self._otel_token = self._otel_token, None
                detach(token)
        except ValueError:  # another context drives the host's code now; nothing is set in it
            self._otel_token = None
        except Exception as error:  # noqa: BLE001 - the boundary
            GUARD.report("pause", error)

    def returned(self, result: object) -> None:
        """Take the answer from a complete result and end the trace."""
        try:
            self._answer(result)
            if self.owner:
                self.live.finish()
        except Exception as error:  # noqa: BLE001 - the boundary
            GUARD.report("returned", error)
            self.ended()

    def failed(self, error: BaseException, status: str | None = None) -> None:
        """The host's code raised; end the trace accordingly."""
        try:
            self.live.fail(error)
            if self.owner:
                self.live.finish(status)
        except Exception as mistake:  # noqa: BLE001 - the boundary
            GUARD.report("failed", mistake)
            self.ended("error")

    def ended(self, status: str | None = None, ended: int | None = None) -> None:
        """The answer is complete, or will never be; `ended` says since when."""
        try:
            if self.owner:
                self.live.finish(status, ended)
        except Exception as error:  # noqa: BLE001 - the boundary
            GUARD.report("ended", error)

    def streams(self) -> None:
        """The answer comes in pieces."""
        self.live.streamed = True

    def chunk(self, chunk: object) -> None:
        """Take the text of one streamed chunk."""
        try:
            extract = self.spec.answer
            if extract is not None:
                chunk = extract(chunk)
            self.live.chunk(chunk if type(chunk) is str else self._text_of(chunk))
        except Exception as error:  # noqa: BLE001 - the boundary
            GUARD.report("chunk", error)

    def _text_of(self, chunk: object) -> str | None:
        live = self.live
        if type(chunk) in _BYTES:
            return live.decoded(chunk)  # type: ignore[arg-type]
        keys = self.spec.answer_keys
        text, whole = read_piece(chunk, begun=live.answer_chars > 0, keys=keys)
        if text and whole and live.answer_parts:
            live.answer_parts = ["".join(live.answer_parts)]
            text = remainder(text, live.answer_parts[0])
        if not text and (keys or text is None):
            frame = event_frame(chunk)
            if frame is None and chunk is not None and not live.unread:
                live.unread = not keys or field_text(chunk, keys) is None
            return frame
        if live.answer_parts is None:
            live.unframed = True  # a model's own words may look like frames
        elif live.piece_times is not None and text and text_of(chunk) is None:
            among_events = live.answer_parts[0].lstrip().startswith(EVENT_LINES)
            line = json.dumps(text)  # among others
            return event_frame({"data": line}) if among_events else f"{line}\n"
        return text

    def _answer(self, result: object) -> None:
        live = self.live
        if live.explicit_answer:
            return
        if live.closed:  # by the middleware, whose response is complete
            live.recorder.counters.late += 1
            return
        extract = self.spec.answer
        if extract is not None:
            result = extract(result)
        keys = self.spec.answer_keys
        if type(result) is str:
            text: str | None = result
        else:
            response = response_body(result)
            if response is not None:
                body, live.body_type = response
                live.body = body[: live.recorder.max_answer_chars]
                live.truncated |= len(body) > live.recorder.max_answer_chars
                return
            text = answer_of(result, keys=keys)
        if text is not None:
            if len(text) > live.recorder.max_chars:
                text = text[: live.recorder.max_chars]
                live.truncated = True
            live.answer = text
        elif result is not None:
            live.answer_type = type_name(result)
            if any(hasattr(type(result), name) for name in _STEPS):
                # Whoever stood in for it would be of another class, which the host may ask for.
                GUARD.warn_once(
                    "iterator",
                    "%s returned an iterator of class %s, which cannot be watched: its answer is "
                    "unknown; yield from it",
                    self.spec.name,
                    live.answer_type,
                )


def open_scope(
    spec: Spec, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
) -> Scope | None:
    """Begin a trace for a call, or join the one the middleware began; None: just call.

    A traced function inside another one's trace is part of that trace and records nothing. In a
    context that outlived its trace, such as a worker begun in a request, it begins a fresh one.
    """
    try:
        outer = current_trace()
        if outer is not None and not outer.closed:
            return _join(outer, spec, args, kwargs or {})
        recorder = active()
        if recorder is None:
            return None
        live = recorder.new_trace(spec.name, outer)
        if spec.fields:
            live.set(**spec.fields)
        if spec.answer_keys:
            live.answer_keys = spec.answer_keys
        scope = Scope(live, spec, owner=True)
    except Exception as error:  # noqa: BLE001 - the boundary
        GUARD.report("open", error)
        return None
    try:
        _take_question(live, spec, args, kwargs or {})
    except Exception as error:  # noqa: BLE001 - the boundary
        GUARD.report("question", error)
    return scope


def _join(
    outer: object, spec: Spec, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Scope | None:
    if type(outer) is not LiveTrace or outer.origin != "http" or outer.claimed_by_handler:
        return None
    outer.claimed_by_handler = True
    outer.name = spec.name
    if spec.answer_keys:
        outer.answer_keys = spec.answer_keys
    _take_question(outer, spec, args, kwargs)
    return Scope(outer, spec, owner=False)


def _take_question(
    live: LiveTrace, spec: Spec, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    if live.explicit_question:
        return
    arguments = spec.arguments
    rank = 0.0
    if arguments is None:
        question = _extracted(spec, args, kwargs)
    elif args and arguments.is_first and type(args[0]) is str:  # as most handlers have it
        question, rank = args[0], arguments.rank
    else:
        rank, question = arguments.question(args, kwargs, live) or (0.0, None)
    if question is not None:
        if len(question) > live.recorder.max_chars and type(question) is str:
            question = question[: live.recorder.max_chars]
            live.truncated = True
        live.question = question
        if rank:
            live.question_rank = rank


def _extracted(spec: Spec, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
    """The question where the host says where it is."""
    if spec.question is not None:
        return question_in(spec.question(*args, **kwargs))
    if spec.question_argument is None:
        return None
    name, position = spec.question_argument
    value = kwargs.get(name)
    if value is None and position is not None and position < len(args):
        value = args[position]
    return question_in(value, depth=1)
