"""A finished trace into one self-contained OTLP span. Runs on the sender's thread.

Every passage is written once; the contexts point to the retrievals they are the documents of.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from rag_monitor import semconv
from rag_monitor.domain.record import reference_contexts
from rag_monitor.domain.trace import busy_ns, utc_from_ns
from rag_monitor.redaction.redactor import TextRedactor
from rag_monitor.sdk.documents import MAX_METADATA, Document
from rag_monitor.sdk.event_stream import answer_in_pieces
from rag_monitor.sdk.guard import GUARD
from rag_monitor.sdk.http_body import (
    answer_in_body,
    came,
    charset_of,
    first_piece_with_text,
    plain_body,
    question_in_body,
    rewritten,
)
from rag_monitor.sdk.options import Options
from rag_monitor.sdk.peek import text_of
from rag_monitor.sdk.question import Sealed, question_in
from rag_monitor.sdk.record import MOST_LABELS, LiveTrace
from rag_monitor.sdk.sanitise import Json, Sanitiser, finite, whole
from rag_monitor.sdk.sealed import opened
from rag_monitor.sdk.step import Step
from rag_monitor.sdk.steps import GenerationStep, HitStep, RetrievalStep
from rag_monitor.sdk.text import answer_of, without_repetition
from rag_monitor.sdk.wire import AttributeValue, write_span

_dump: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
).encode
_quote: Final = json.encoder.encode_basestring
_EXTRA_FIELDS: Final = (
    "reference", "key_points", "relevant_ids", "context_labels", "label_faithful", "query",
)  # fmt: skip
_DOCUMENT_OVERHEAD: Final = 64


class EncodedTrace:
    """A trace as attributes: what the root carries, and the pieces steps reuse."""

    __slots__ = ("attributes", "documents", "name", "record", "sanitiser")

    def __init__(self, sanitiser: Sanitiser) -> None:
        self.sanitiser = sanitiser
        self.name = ""
        self.record: dict[str, Json] = {}
        self.attributes: dict[str, AttributeValue] = {}
        self.documents: dict[int, str] = {}
        """JSON array of a retrieval's documents by the step's `id`."""


class Encoder:
    """Encodes finished traces under the configured limits and redaction."""

    def __init__(self, options: Options, redactor: TextRedactor | None) -> None:
        self._options = options
        self._redactor = redactor

    def root(self, live: LiveTrace, encoded: EncodedTrace) -> bytes:
        """The root span of a described trace, as protobuf."""
        error = None
        if live.status == "error":
            error = str(encoded.record.get("error") or "error")[:500]
        return write_span(
            trace_id=live.trace_id_int,
            span_id=live.span_id,
            name=encoded.name,
            start_ns=live.wall_ns,
            end_ns=live.wall_ns + live.ended - live.started,
            attributes=encoded.attributes,
            error=error,
            link=live.host_span,
        )

    def describe(self, live: LiveTrace) -> EncodedTrace:
        """Everything about the trace, cleaned; the budget shrinks until it fits."""
        limit = self._options.max_trace_bytes
        budget = limit
        while True:
            encoded = self._describe(live, budget)
            size = sum(_size(v) for v in encoded.attributes.values() if type(v) is str)
            if size <= limit or budget < 1024:
                return encoded
            budget = int(budget * 0.9 * limit / size)

    def _describe(self, live: LiveTrace, budget: int) -> EncodedTrace:
        options = self._options
        clean = Sanitiser(
            self._redactor,
            content=options.capture_content,
            per_text=options.max_text_bytes,
            budget=budget,
        )
        encoded = EncodedTrace(clean)
        record = encoded.record
        record["trace_id"] = live.trace_id
        record["app"] = options.app
        question, answer = _question(live), _answer(live)
        if 400 <= live.http_status < 500 and not _was_answered(live, question, answer):
            live.failed_http(live.http_status)
        clean.screen(_bulk_texts(live, question, answer))
        record["question"] = clean.bulk("question", question)
        record["answer"] = clean.bulk("answer", answer)
        _identity(record, live, clean, options)
        _time_first_piece(live)
        retrievals = _retrievals(live)
        record["timings"] = timings(live, retrievals)
        record["streamed"] = live.streamed
        record["status"] = live.status
        if live.error is not None:
            error = live.error if options.capture_content else live.error_type
            record["error"] = clean.error(error, 2048)
        hits: list[Json] = [hit for step in live.steps if (hit := _hit(step, clean)) is not None]
        if hits:
            record["hits"] = hits
        went_in, came_out = whole(live.input_tokens), whole(live.output_tokens)
        if went_in is not None or came_out is not None:
            record["usage"] = {"input_tokens": went_in, "output_tokens": came_out}
        _labels(record, live, clean)
        lists = self._lists(encoded, live, retrievals, clean)
        if live.truncated or clean.truncated:
            record["truncated"] = True
        self._attributes(encoded, live, lists)
        return encoded

    def _name(self, live: LiveTrace) -> str:
        """The trace's name; where content stays, only the first part of a path.

        A user may have written the rest.
        """
        if live.origin != "http" or self._options.capture_content:
            return live.name
        first, rest = live.name.lstrip("/").partition("/")[::2]
        return f"/{first}/*" if rest else live.name

    def _lists(
        self,
        encoded: EncodedTrace,
        live: LiveTrace,
        retrievals: Sequence[RetrievalStep],
        clean: Sanitiser,
    ) -> list[str]:
        """The bulky members of the record, retrievals and contexts, as pieces of JSON text.

        Joined once with the rest: every join copies all passages.
        """
        pieces: list[str] = []
        arrays = encoded.documents
        for step in retrievals:
            array = None
            if step.taken is not None:
                array = self._documents(step.taken, clean, step.knowledge_base)
                arrays[id(step)] = array
            pieces.append("," if pieces else ',"retrievals":[')
            pieces += _retrieval(step, array, clean)
        if pieces:
            pieces.append("]")
        contexts = self._contexts(live, retrievals, arrays, clean)
        if contexts is not None:
            pieces += (',"contexts":', contexts)
        return pieces

    def _contexts(
        self,
        live: LiveTrace,
        steps: Sequence[RetrievalStep],
        arrays: dict[int, str],
        clean: Sanitiser,
    ) -> str | None:
        """What reached the model: as said, else the last reranked retrieval, else all of them."""
        if live.contexts_reported:
            return self._documents(live.contexts, clean, None)
        with_documents = [number for number, step in enumerate(steps) if id(step) in arrays]
        if not with_documents:
            return None
        reranked = [number for number in with_documents if steps[number].reranked]
        # One that runs around another ends after it.
        reranked.sort(key=lambda number: steps[number].ended)
        return _dump(reference_contexts(reranked[-1:] or with_documents))

    def _documents(
        self, items: Sequence[Document], clean: Sanitiser, knowledge_base: object
    ) -> str:
        documents = []
        inherited = _knowledge_base(knowledge_base, clean)
        for item in items:
            if clean.left <= 0:
                clean.truncated = True
                break
            documents.append(_document(item, clean, inherited))
        return f"[{','.join(documents)}]"

    def _attributes(self, encoded: EncodedTrace, live: LiveTrace, lists: list[str]) -> None:
        record = encoded.record
        head = _dump({key: value for key, value in record.items() if value is not None})
        text = "".join((head[:-1], *lists, "}"))
        name = encoded.sanitiser.label(self._name(live)) or "request"
        encoded.name = f"invoke_workflow {name}"
        attributes = encoded.attributes
        attributes[semconv.COMPLETE] = True
        attributes[semconv.APP_ROOT] = True
        attributes[semconv.RECORD] = text
        attributes[semconv.OI_SPAN_KIND] = "CHAIN"
        attributes[semconv.GEN_AI_OPERATION] = "invoke_workflow"
        attributes[semconv.GEN_AI_WORKFLOW_NAME] = name
        for key, mime, field in (
            (semconv.OI_INPUT, semconv.OI_INPUT_MIME, "question"),
            (semconv.OI_OUTPUT, semconv.OI_OUTPUT_MIME, "answer"),
        ):
            value = record.get(field)
            if isinstance(value, str):
                attributes[key] = value
                attributes[mime] = semconv.TEXT_PLAIN
        attributes.update(shared_attributes(record))
        if live.error_type is not None:
            attributes[semconv.ERROR_TYPE] = live.error_type[:200]


def shared_attributes(record: dict[str, Json]) -> dict[str, AttributeValue]:
    """Session and user, repeated on every span: children may arrive without the root."""
    attributes: dict[str, AttributeValue] = {}
    session, user = record.get("session_id"), record.get("user_id")
    if isinstance(session, str):
        attributes[semconv.SESSION_ID] = session
        attributes[semconv.GEN_AI_CONVERSATION_ID] = session
    if isinstance(user, str):
        attributes[semconv.USER_ID] = user
    return attributes


def timings(live: LiveTrace, retrievals: Sequence[RetrievalStep]) -> dict[str, Json]:
    """Milliseconds as DESIGN section 2 defines them; what could not be known is left out."""
    out: dict[str, Json] = {"end_to_end_ms": _ms(live.ended - live.started)}
    if live.first_byte is not None:
        out["first_byte_ms"] = _ms(live.first_byte - live.started)
    if live.status == "ok" or live.first_byte is not None:
        begun = live.retrieval_end or live.generation_start or live.started
        out["generation_ms"] = _ms(max(0, live.ended - begun))
    if live.retrieval_end is not None:
        # Knowledge bases are often asked all at once.
        out["retrieval_ms"] = _ms(busy_ns((step.started, step.ended) for step in retrievals))
    if live.first_token_ns is not None:
        out["first_token_ms"] = _ms(live.first_token_ns)
    return out


def _retrievals(live: LiveTrace) -> list[RetrievalStep]:
    """The retrievals by their beginnings: those that run side by side end in any order."""
    steps = (step for step in live.steps if isinstance(step, RetrievalStep))
    return sorted(steps, key=lambda step: step.started)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _present(**values: Json) -> dict[str, Json]:
    return {key: value for key, value in values.items() if value is not None}


def _ms(nanoseconds: int) -> float:
    return round(nanoseconds / 1e6, 3)


def _question(live: LiveTrace) -> object:
    """What the handler was asked, unless the request names the question more surely."""
    own = None if live.question is None else _own_question(live)
    if live.request is None:
        return own
    try:
        requested = question_in_body(live.request)
    except Exception as error:  # noqa: BLE001 - the host's extractor; the trace is still worth it
        GUARD.report("question", error)
        return own
    if requested is None or (own is not None and live.question_rank <= requested[0]):
        return own
    return requested[1]


def _own_question(live: LiveTrace) -> str | None:
    question = live.question
    if not isinstance(question, Sealed):
        question = question_in(question)
        if question is None or live.explicit_question:
            return question
    return opened(question, live.question_rank)


def _answer(live: LiveTrace) -> object:
    if live.answer is not None:
        return answer_of(live.answer)
    if live.answer_parts is not None:
        return _yielded(live, live.answer_parts)
    if live.body is not None:
        body = plain_body(live.body, live.body_encoding)
        if body is None:
            return None
        return answer_in_body(body, live.http_status, live.answer_keys, live.body_type)
    for step in reversed(live.steps):
        if isinstance(step, GenerationStep) and step.text is not None:
            return answer_of(step.text)
    return "" if live.streamed and not live.unread else None


def _yielded(live: LiveTrace, parts: Sequence[str]) -> str | None:
    """The text of the pieces that a handler yielded; of frames it notes when the first came."""
    text: str | None = without_repetition(parts)
    rest = live.undecoded
    if rest is not None:
        text = rewritten(text or "", rest, charset_of(live.body_type))
    if text is None or live.unframed:
        return text
    times = live.piece_times
    pieces = len(times) // 2 if times else len(parts)
    text, place = answer_in_pieces(text.removeprefix("\ufeff"), pieces, live.answer_keys)
    if times and live.first_byte is None and place is not None:
        live.first_byte = came(times, place)
    return text


def _time_first_piece(live: LiveTrace) -> None:
    """Of an answer in frames, when its first text went out."""
    if live.first_byte is None and live.piece_times and live.body is not None:
        live.first_byte = first_piece_with_text(
            live.body, live.body_encoding, live.piece_times, live.body_type, live.answer_keys
        )


def _was_answered(live: LiveTrace, question: object, answer: object) -> bool:
    """Whether a response of HTTP 4xx is an answer, and not the word of a framework that refuses.

    A request that fails validation never reaches the handler: nothing of the trace was recorded by
    the host's code. Then the body alone decides, and it takes a question to be an answer to.
    """
    if live.claimed_by_handler or live.steps or live.answer is not None:
        return question is not None or answer is not None
    return question is not None and answer is not None


def _bulk_texts(live: LiveTrace, question: object, answer: object) -> Iterator[object]:
    yield question
    yield answer
    for step in live.steps:
        if isinstance(step, RetrievalStep):
            yield step.query
            if step.taken is not None:
                for content, *_ in step.taken:
                    yield content
    for content, *_ in live.contexts:
        yield content


def _identity(record: dict[str, Json], live: LiveTrace, clean: Sanitiser, options: Options) -> None:
    record["session_id"] = clean.person("session_id", live.session_id)
    record["user_id"] = clean.person("user_id", live.user_id)
    record["model"] = clean.label(live.model)
    record["knowledge_base"] = clean.label(live.knowledge_base)
    record["release"] = clean.label(live.release) or options.release
    record["environment"] = clean.label(live.environment) or options.environment
    seconds, rest = divmod(live.wall_ns, 1_000_000_000)
    record["started_at"] = f"{_second(seconds)}.{rest // 1000:06d}+00:00"
    tags: list[Json] = [
        tag for value in live.tags if (tag := clean.content("tags", value)) is not None
    ]
    if tags:
        record["tags"] = tags


@lru_cache(8)
def _second(seconds: int) -> str:
    return utc_from_ns(seconds * 1_000_000_000).strftime("%Y-%m-%dT%H:%M:%S")


def _labels(record: dict[str, Json], live: LiveTrace, clean: Sanitiser) -> None:
    for name in ("label", "predicted"):
        record[name] = clean.content(name, getattr(live, name))
    turns: list[Json] = [
        {"question": text, "answer": clean.content("history.answer", answer)}
        for question, answer in live.history
        if (text := clean.content("history.question", question)) is not None
    ]
    if turns:
        record["history"] = turns
    if live.expected:
        record["expected"] = clean.tree("expected", live.expected)
    extra = dict(live.extra or {})
    if live.answer_type is not None:
        extra["answer_type"] = live.answer_type
    for name in _EXTRA_FIELDS:
        if name in extra:
            record[name] = clean.tree(name, extra.pop(name), MOST_LABELS)
    if extra:
        record["metadata"] = clean.tree("metadata", extra)


def _document(item: Document, clean: Sanitiser, base: str) -> str:
    """One passage as JSON; `base` is the member that names the retrieval's knowledge base."""
    content, id_, score, own, metadata = item
    clean.left -= _DOCUMENT_OVERHEAD
    text = clean.bulk("content", content)
    out = ""
    if id_ is not None and (label := clean.label(id_)) is not None:
        out = f',"id":{_quote(label)}'
    if score is not None and (number := finite(score)) is not None:
        out += f',"score":{number!r}'
    out += base if own is None else _knowledge_base(own, clean)
    if metadata:
        tree = clean.tree("metadata", metadata, MAX_METADATA)
        if tree is not None:
            out += f',"metadata":{_dump(tree)}'
    if text is None:
        return f"{{{out[1:]}}}"
    return f'{{"content":{clean.quoted(text)}{out}}}'


def _knowledge_base(value: object, clean: Sanitiser) -> str:
    label = clean.label(value)
    return "" if label is None else f',"knowledge_base":{_quote(label)}'


def _retrieval(step: RetrievalStep, documents: str | None, clean: Sanitiser) -> tuple[str, ...]:
    """A retrieval as pieces of a JSON object."""
    out = f'"latency_ms":{_ms(step.ended - step.started)!r}'
    query = clean.bulk("query", text_of(step.query))
    if query is not None:
        out += f',"query":{_quote(query)}'
    out += _knowledge_base(step.knowledge_base, clean)
    if step.reranked is True:
        out += ',"reranked":true'
    error = clean.error(step.reason, 512)
    if error is not None:
        out += f',"error":{_quote(error)}'
    if documents is None:
        return "{", out, "}"
    return "{", out, ',"documents":', documents, "}"


def _hit(step: Step, clean: Sanitiser) -> Json:
    kind, items = step.kind, None
    if isinstance(step, RetrievalStep):
        kind = "knowledge_base"
        items = len(step.taken) if step.taken is not None else None
    elif isinstance(step, HitStep):
        items = whole(step.items)
    else:
        return None
    name = clean.label(step.name)
    if name is None:
        return None
    hit: dict[str, Json] = {
        "kind": kind,
        "name": name,
        "ok": not step.failed,
    }
    if step.timed:
        hit["latency_ms"] = _ms(step.ended - step.started)
    if items is not None:
        hit["items"] = items
    return hit
