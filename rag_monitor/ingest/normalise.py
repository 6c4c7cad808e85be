"""The last step of every derivation: cut to the limits, clean, redact, and set times right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from rag_monitor import telemetry
from rag_monitor.domain.clean_text import clean_text, is_clean
from rag_monitor.domain.conversation import EarlierTurn, last_turns
from rag_monitor.domain.trace import Expected, Retrieval, RetrievedDocument, Trace
from rag_monitor.ingest.options import DeriveLimits, DeriveOptions

T = TypeVar("T", Trace, Retrieval, Expected)

_EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
_MAX_SKEW: Final = timedelta(hours=1)
_MAX_DEPTH: Final = 32
_MAX_NAME: Final = 1000
"""Characters of a name or id."""


def believable(started: datetime, received_at: datetime) -> bool:
    """Whether a trace that came in at `received_at` may have begun then; both with a zone."""
    return _EARLIEST <= started <= received_at + _MAX_SKEW


class _Normaliser:
    """Applies limits and redaction to texts, and remembers whether anything was cut."""

    def __init__(self, options: DeriveOptions) -> None:
        self._redactor: Callable[[str], str] | None = options.redactor
        self._limits: DeriveLimits = options.limits
        self._finished: dict[int, RetrievedDocument] = {}
        self.cut = False

    def text(self, value: str | None) -> str | None:
        """Cleaned, cut, redacted; None when redaction fails."""
        if value is None:
            return None
        value = clean_text(value)
        if len(value) > self._limits.max_text:
            value, self.cut = value[: self._limits.max_text], True
        if self._redactor is None or not value:
            return value
        try:
            return self._redactor(value)
        except Exception:  # noqa: BLE001 - any redactor; a text it cannot handle is never kept raw
            telemetry.dropped("derive", "redaction_failed")
            return None

    def name(self, value: str | None) -> str | None:
        """A name or id: cleaned, not redacted (erasure and grouping need it as it is)."""
        return None if value is None else clean_text(value)[:_MAX_NAME]

    def value(self, value: object, depth: int = 0) -> object:
        """A JSON-safe copy of anything."""
        if isinstance(value, str):
            return self.text(value)
        if depth >= _MAX_DEPTH:
            self.cut = True
            return None
        if isinstance(value, Mapping):
            return {clean_text(str(k)): self.value(v, depth + 1) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item, depth + 1) for item in value]
        if isinstance(value, float):
            return value if -1e308 < value < 1e308 else None
        return value if isinstance(value, (bool, int)) or value is None else None

    def steps(self, items: object) -> object:
        """A list of tools or errors, capped."""
        if isinstance(items, list) and len(items) > self._limits.max_steps:
            self.cut = True
            items = items[: self._limits.max_steps]
        return self.value(items)

    def documents(self, documents: tuple[RetrievedDocument, ...]) -> tuple[RetrievedDocument, ...]:
        """Passages: text cut and redacted, the list capped."""
        if len(documents) > self._limits.max_documents:
            documents, self.cut = documents[: self._limits.max_documents], True
        # Mostly what reached the model is what was retrieved: each is looked at once.
        finished = self._finished
        return tuple(finished.get(id(d)) or self._document(d) for d in documents)

    def _document(self, d: RetrievedDocument) -> RetrievedDocument:
        if self._is_finished(d):  # as nearly all are
            self._finished[id(d)] = d
            return d
        name, content, base = self.name(d.id), self.text(d.content), self.name(d.knowledge_base)
        score = d.score if d.score is None or -1e308 < d.score < 1e308 else None
        result = self._finished[id(d)] = RetrievedDocument(
            id=name,
            content=content,
            score=score,
            rank=d.rank,
            knowledge_base=base,
            metadata={clean_text(str(k)): self.value(v) for k, v in d.metadata.items()},
        )
        return result

    def _is_finished(self, d: RetrievedDocument) -> bool:
        """Whether nothing of it is to be cut, cleaned or redacted."""
        return (
            not d.metadata
            and self._redactor is None
            and _fits(d.content, self._limits.max_text)
            and _fits(d.id, _MAX_NAME)
            and _fits(d.knowledge_base, _MAX_NAME)
            and (d.score is None or -1e308 < d.score < 1e308)
        )

    def retrieval(self, retrieval: Retrieval) -> Retrieval:
        """One retrieval."""
        return changed(
            retrieval,
            query=self.text(retrieval.query),
            documents=self.documents(retrieval.documents),
            knowledge_base=self.name(retrieval.knowledge_base),
            error=self.text(retrieval.error),
        )

    def history(self, turns: tuple[EarlierTurn, ...]) -> tuple[EarlierTurn, ...]:
        """Earlier turns: their texts are redacted as those of the trace are."""
        if not turns:
            return turns
        return last_turns(
            EarlierTurn(question=self.text(t.question) or "", answer=self.text(t.answer) or "")
            for t in turns
        )

    def expected(self, expected: Expected | None) -> Expected | None:
        """Labels: the texts among them are redacted like answers."""
        if expected is None:
            return None
        return changed(
            expected,
            references=self._texts(expected.references),
            key_points=self._texts(expected.key_points),
        )

    def _texts(self, values: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if values is None:
            return None
        return tuple(text for value in values if (text := self.text(value)) is not None)


def _fits(text: str | None, limit: int) -> bool:
    return text is None or (len(text) <= limit and is_clean(text))


def changed(value: T, **fields: Any) -> T:
    """With these fields; the value itself where they are as they were: copying costs the most."""
    changes = {name: new for name, new in fields.items() if new != getattr(value, name)}
    return replace(value, **changes) if changes else value


def normalise(
    trace: Trace, options: DeriveOptions, received_at: datetime, *, cut: bool = False
) -> Trace:
    """The trace as it may be stored.

        >>> from rag_monitor.testing import make_trace
        >>> trace = make_trace("Is anna@example.com in?", answer="x" * 50_000)
        >>> options = DeriveOptions(
        ...     limits=DeriveLimits(max_text=1_000), redactor=lambda text: text.replace("anna", "…")
        ... )
        >>> stored = normalise(trace, options, trace.started_at)
        >>> stored.question, len(stored.answer), stored.truncated
        ('Is …@example.com in?', 1000, True)

    Args:
        trace: As read from the evidence.
        options: Limits and redactor.
        received_at: Replaces a start that cannot be true (before 2000, or more than an hour ahead),
            so that retention neither keeps the trace for ever nor deletes it at once.
        cut: Evidence beyond the limits was left out already.
    """
    to = _Normaliser(options)
    attributes = {
        clean_text(key): to.steps(value) if key in ("tools", "errors") else to.value(value)
        for key, value in trace.attributes.items()
    }
    started = trace.started_at
    if not believable(started, received_at):
        attributes["started_at_sent"] = started.isoformat()
        started = received_at
    finished = changed(
        trace,
        question=to.text(trace.question),
        answer=to.text(trace.answer),
        started_at=started,
        session_id=to.name(trace.session_id),
        user_id=to.name(trace.user_id),
        environment=to.name(trace.environment),
        release=to.name(trace.release),
        model=to.name(trace.model),
        tags=tuple(clean_text(tag) for tag in trace.tags),
        error=to.text(trace.error),
        retrievals=tuple(to.retrieval(item) for item in trace.retrievals),
        contexts=None if trace.contexts is None else to.documents(trace.contexts),
        context_block=to.text(trace.context_block),
        history=to.history(trace.history),
        expected=to.expected(trace.expected),
        attributes=attributes,
    )
    return replace(finished, truncated=True) if to.cut or cut else finished
