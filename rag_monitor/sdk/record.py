"""What the hot path writes: one live trace, its clocks and references.

Nothing here is encoded, copied deeply or sent. Methods that hosts call never raise.
"""

from __future__ import annotations

import codecs
from array import array
from collections.abc import Mapping
from contextvars import ContextVar
from itertools import islice
from time import perf_counter_ns, time_ns
from typing import Any, Final, Protocol

from rag_monitor.sdk.counters import Counters
from rag_monitor.sdk.documents import Document, cut_value, take_documents
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.history import HistoryTurn, turns_in
from rag_monitor.sdk.peek import MOST_BYTES, text_of, type_name
from rag_monitor.sdk.text import EVENT_NAME_CHARS, may_begin_frames, without_repetition

MAX_STEPS: Final = 200
"""Steps of one trace that are kept."""
_JOIN_EVERY: Final = 256
MOST_LABELS: Final = 200
"""Items kept of one list or dict of labels: relevant ids, key points, labels of passages."""
_MOST_VALUES: Final = MOST_LABELS + 1
"""Items copied of one list or dict, for the host waits for the copy: one more than is kept, which
shows the sender that it cuts."""
_MOST_TAGS: Final = 50
_MOST_EXTRA: Final = 50

_FIELDS: Final = frozenset(
    {
        "question", "answer", "session_id", "user_id", "release", "environment", "model",
        "knowledge_base", "label", "predicted", "input_tokens", "output_tokens",
    }
)  # fmt: skip


_new_decoder: Final = codecs.getincrementaldecoder("utf-8")


class TraceRecorder(Protocol):
    """Who takes a trace when it is finished, and under which limits it is kept."""

    max_chars: int
    """Longest question, passage or query."""
    max_answer_chars: int
    """Longest streamed answer."""
    counters: Counters

    def submit(self, item: LiveTrace) -> None:
        """Queue a finished trace; never waits, never raises."""
        ...

    def open_shared(self, step: Any) -> None:
        """Begin a span for `step` in the host's provider."""
        ...

    def leave_shared(self, step: Any) -> None:
        """Make the span around `step` current again."""
        ...


class LiveTrace:
    """One request being answered. `current()` gives it to the host.

        >>> import rag_monitor
        >>> from rag_monitor.testing import InMemoryExporter
        >>> with InMemoryExporter() as exporter, rag_monitor.trace("chat", question="Why?") as live:
        ...     live.set(answer="Because.", session_id="s-1", team="search")
        <rag_monitor.sdk.record.LiveTrace object at ...>
        >>> record = exporter.records[0]
        >>> record["answer"], record["session_id"], record["metadata"]
        ('Because.', 's-1', {'team': 'search'})

    Fields that most traces never set are class attributes: they cost the request nothing.
    """

    origin = "call"
    closed = False
    claimed_by_handler = False
    streamed = False
    truncated = False
    contexts_reported = False
    explicit_answer = False
    explicit_question = False
    unframed = False
    """The pieces of the answer are its text, even where that looks like frames around one."""
    unread = False
    """A piece came that is in no known shape: without any text the answer is unknown, not empty."""
    chars = 0
    answer_chars = 0
    http_status = 0
    """The HTTP status, from 400 on, of a response that nothing else says the end of; 0: none."""
    status = "ok"
    ended: int = 0
    answer_parts: list[str] | None = None
    _decoder: codecs.IncrementalDecoder | None = None
    first_byte: int | None = None
    first_token_ns: int | None = None
    retrieval_end: int | None = None
    generation_start: int | None = None
    contexts: tuple[Document, ...] = ()
    question: Any = None
    question_rank: float = 0.0
    """How sure the name is under which the question stood: 0 is surest."""
    answer: Any = None
    answer_type: str | None = None
    body: bytes | None = None
    piece_times: array[int] | None = None
    """Of an answer in frames, for each piece: how much came before it, in bytes of `body` or
    characters of the pieces, and the nanoseconds of `perf_counter` when it came."""
    answer_keys: tuple[str, ...] = ()
    """The fields of `body` that hold the answer, where the host named them."""
    body_encoding = ""
    """The content encoding of `body`, such as gzip; empty: none."""
    body_type = ""
    """The content type of the response, which may declare a character set; empty: unknown."""
    request: Any = None
    web: Any = None
    """The scope of the HTTP request that is being answered, while it is."""
    error: str | None = None
    error_type: str | None = None
    expected: dict[Any, Any] | None = None
    extra: dict[str, Any] | None = None
    tags: tuple[Any, ...] = ()
    history: tuple[HistoryTurn, ...] = ()
    session_id: Any = None
    user_id: Any = None
    release: Any = None
    environment: Any = None
    model: Any = None
    knowledge_base: Any = None
    label: Any = None
    predicted: Any = None
    input_tokens: Any = None
    output_tokens: Any = None
    host_span: Any = None
    otel_context: Any = None
    otel_span: Any = None

    def __init__(self, recorder: TraceRecorder, name: str, trace_id: int, span_id: int) -> None:
        self.wall_ns = time_ns()
        self.started = perf_counter_ns()
        self.recorder = recorder
        self.name = name
        self.trace_id_int = trace_id
        self.span_id = span_id
        self.steps: list[Any] = []

    @property
    def trace_id(self) -> str:
        """32 lower-case hex digits; what `feedback` needs."""
        return f"{self.trace_id_int:032x}"

    def set(self, **fields: Any) -> LiveTrace:
        """Say more about this trace; the last value given for a field counts.

        Args:
            **fields: `question`, `answer`, `session_id`, `user_id`, `release`, `environment`,
                `model`, `knowledge_base`, `label`, `predicted`, `input_tokens`, `output_tokens`,
                `tags` (list of str), `history` (the turns before: `{"question": …, "answer": …}`
                or chat messages; the last three are kept), `expected` (`{"plugin": […],
                "knowledge_base": […], "workflow": […]}`), `reference`, `key_points`,
                `relevant_ids`, `context_labels`, `label_faithful` as in Trace JSON. Anything else
                is kept as metadata.
        """
        try:
            for name, value in fields.items():
                self._set_one(name, value)
        except Exception as error:  # noqa: BLE001 - the boundary
            GUARD.report("set", error)
        return self

    def _set_one(self, name: str, value: Any) -> None:
        if self.closed:
            self.recorder.counters.late += 1
        elif name in _FIELDS:
            if type(value) is str and len(value) > self.recorder.max_chars:
                value = value[: self.recorder.max_chars]
                self.truncated = True
            setattr(self, name, value)
            if name == "question":
                self.explicit_question, self.question_rank = True, 0.0
            elif name == "answer":
                self.explicit_answer = True
        elif name == "tags":
            self._tag(value)
        elif name == "history" and (turns := turns_in(value)):
            self.history = turns
        elif name == "expected" and issubclass(type(value), dict):
            some = islice(dict.items(value), _MOST_VALUES)
            self.expected = {key: _shallow(item) for key, item in some}
        else:
            self._set_extra(name, value)

    def _set_extra(self, name: str, value: Any) -> None:
        if self.extra is None:
            self.extra = {}
        if name in self.extra or len(self.extra) < _MOST_EXTRA:
            self.extra[name] = _shallow(value)
        else:
            self.truncated = True

    def _tag(self, value: Any) -> None:
        tags = (value,) if text_of(value) is not None else _shallow(value)
        if type(tags) is not tuple:
            tags = ()
        self.truncated = self.truncated or len(tags) > _MOST_TAGS
        self.tags = tags[:_MOST_TAGS]

    def mark_first_byte(self) -> None:
        """The first piece of the answer went out."""
        if self.closed:
            self.recorder.counters.late += 1
        elif self.first_byte is None:
            self.first_byte = perf_counter_ns()

    def chunk(self, text: str | None) -> None:
        """Take one piece of the streamed answer; empty pieces do not stop the first-byte clock."""
        if not text:
            return
        if self.closed:
            self.recorder.counters.late += 1
            return
        if self.first_byte is None:
            self._time_piece(text)
        if self.answer_chars >= self.recorder.max_answer_chars:
            self.truncated = True
            return
        parts = self.answer_parts
        if parts is None:
            parts = self.answer_parts = []
        room = self.recorder.max_answer_chars - self.answer_chars
        if len(text) > room:
            text = text[:room]
            self.truncated = True
        parts.append(text)
        self.answer_chars += len(text)
        if len(parts) > _JOIN_EVERY:
            self.answer_parts = [without_repetition(parts)]

    def decoded(self, piece: bytes | bytearray | memoryview) -> str:
        """The text of a piece in bytes, which may begin and end inside a character.

        What is no UTF-8 is escaped, for the sender to read as the response declares it.
        """
        if self._decoder is None:
            self._decoder = _new_decoder("surrogateescape")
        return self._decoder.decode(piece[:MOST_BYTES])

    @property
    def undecoded(self) -> bytes | None:
        """What is left of pieces in bytes that end inside a character; None: none was in bytes."""
        return None if self._decoder is None else self._decoder.getstate()[0]

    def _time_piece(self, text: str) -> None:
        """The first piece stops the clock, but of frames only one that holds text of the answer.

        Which that is the sender finds out, by when each piece came.
        """
        begun = self.answer_parts
        if begun is None and not self.unframed and may_begin_frames(text):
            self.piece_times = array("q")
        if self.piece_times is None:
            self.first_byte = perf_counter_ns()
            return
        if self.answer_chars < self.recorder.max_answer_chars:
            self.piece_times.extend((self.answer_chars, perf_counter_ns()))
        if begun is not None and self.answer_chars < EVENT_NAME_CHARS:
            self._settle("".join((*begun, text)))

    def _settle(self, text: str) -> None:
        """Take the first piece for text of the answer if this is no beginning of frames."""
        if self.piece_times and not may_begin_frames(text):
            self.first_byte, self.piece_times = self.piece_times[1], None

    def fail(self, error: BaseException) -> None:
        """Note how the handler ended without keeping the exception or asking it anything."""
        if self.closed:
            self.recorder.counters.late += 1
            return
        self.error_type = type_name(error)
        self.status = _status_of(error)
        if self.status == "error":
            message = _message_of(error)
            self.error = f"{self.error_type}: {message}" if message else self.error_type

    def failed_http(self, status_code: int) -> None:
        """The response says that nothing was answered."""
        self.status = "error"
        self.error = self.error_type = f"HTTP {status_code}"

    def finish(self, status: str | None = None, ended: int | None = None) -> None:
        """Stop the clocks and hand the trace to the sender. Only the first call counts."""
        if self.closed:
            return
        self.ended = perf_counter_ns() if ended is None else ended
        self.closed = True
        if status is not None:
            self.status = status
        if self.first_byte is None and not self.streamed and self.status == "ok":
            self.first_byte = self.ended
        self.recorder.submit(self)

    def add_step(self, step: Any) -> None:
        """Keep a finished step."""
        if len(self.steps) >= MAX_STEPS:
            self.truncated = True
        else:
            self.steps.append(step)

    def reach_model(self, contexts: object) -> None:
        """Say which passages reached the model."""
        if self.closed:
            self.recorder.counters.late += 1
            return
        taken = take_documents(contexts, self.recorder.max_chars)
        if taken is None:
            self.contexts_reported = False
            return
        self.contexts, chars, cut = taken
        self.contexts_reported = True
        self.chars += chars
        self.truncated = self.truncated or cut


class NullTrace:
    """What `current()` gives outside a trace: takes everything, keeps nothing, is false."""

    trace_id = ""
    closed = False

    def set(self, **fields: Any) -> NullTrace:
        """Do nothing."""
        del fields
        return self

    def __bool__(self) -> bool:
        return False


NULL: Final = NullTrace()
CURRENT: Final[ContextVar[LiveTrace | NullTrace | None]] = ContextVar("rag_monitor", default=None)
"""The trace of this context; `NULL` where recording is suppressed (our own threads)."""


def _shallow(value: Any) -> Any:
    kind = type(value)
    if kind is list or kind is tuple or kind is set or kind is frozenset:
        return tuple([cut_value(item) for item in islice(value, _MOST_VALUES)])
    if issubclass(kind, Mapping) and issubclass(kind, dict):
        return {key: cut_value(item) for key, item in islice(dict.items(value), _MOST_VALUES)}
    return cut_value(value)


def _status_of(error: BaseException) -> str:
    for cls in type.__dict__["__mro__"].__get__(type(error)):
        if cls is GeneratorExit:
            return "abandoned"
        if cls.__name__ in ("CancelledError", "Cancelled", "ClientDisconnect"):
            return "cancelled"
    return "error"


def _message_of(error: BaseException) -> str:
    arguments = BaseException.__dict__["args"].__get__(error)
    if not arguments or any(type(a) not in (str, int, float, bool) for a in arguments):
        return ""
    return " ".join(a[:2000] if type(a) is str else str(a)[:100] for a in arguments[:5])
