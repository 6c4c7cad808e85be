"""Which spans of a trace are the request: whose input is the question, whose output the answer.

The root or, where it says nothing, what stands outermost below it: chains, agents, workflows, and
model calls that no chain surrounds. Guards, prompts, embeddings and judges are steps beside, and so
is a call that names the conversation or chooses the way while another one answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.ingest.assembly import Assembly
from rag_monitor.ingest.calls import SpanCall
from rag_monitor.ingest.content import plain_text
from rag_monitor.ingest.content import request_of as input_of
from rag_monitor.ingest.conventions.base import NOT_ANSWERING, REQUEST_ROLES, Role
from rag_monitor.ingest.conventions.reading import ask, speakers
from rag_monitor.ingest.side_tasks import instructs_side_task, names_side_task
from rag_monitor.ingest.span_facts import Search, failure_of

_TOOLS: Final = frozenset({Role.TOOL})
_STEPS: Final = frozenset({Role.TOOL, Role.LLM})
_WORD_END: Final = re.compile(r"[_./:-]+|(?<=[a-z])(?=[A-Z])")
_LONGEST: Final = 1_000
"""Characters of a message that may be a person's where a retriever had another query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcedText:
    """A text, and where it was found."""

    text: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class _Unit:
    """Something that may be what answered."""

    span: Span
    answer: str
    calls: Sequence[SpanCall]
    """The calls in it."""
    searched: bool
    """Passages were looked for in it."""


@dataclass(frozen=True, slots=True)
class Request:
    """Question and answer of a trace, and the call that wrote the answer."""

    question: SourcedText
    answer: SourcedText
    call: SpanCall | None


def request_of(
    assembly: Assembly,
    calls: Sequence[SpanCall],
    searches: Sequence[Search],
    contexts: Sequence[RetrievedDocument],
    final: str | None = None,
) -> Request:
    """Find question and answer.

    Args:
        assembly: The trace.
        calls: Its model calls.
        searches: Its retrievers and rerankers.
        contexts: The passages that reached the model.
        final: What an agent answered by calling a tool for it.
    """
    finder = _Finder(assembly, calls, searches, contexts)
    chosen = finder.chosen()
    answer = finder.answer(chosen, final)
    call = finder.call(answer.text, chosen)
    return Request(finder.question(chosen, call), answer, call)


class _Finder:
    """Looks through one trace."""

    def __init__(
        self,
        assembly: Assembly,
        calls: Sequence[SpanCall],
        searches: Sequence[Search],
        contexts: Sequence[RetrievedDocument],
    ) -> None:
        self._assembly = assembly
        self._searches = searches
        self._texts = [d.content for d in contexts if d.content]
        answering = [item for item in calls if not assembly.is_inside(item[0], NOT_ANSWERING)]
        outside_tools = [i for i in answering if not assembly.is_well_inside(i[0], _TOOLS)]
        self._answering = outside_tools or answering
        self._calls = calls
        self._user_messages = {text for _, call in calls for text in call.user_messages}
        self._outer = (*assembly.below, *assembly.beside)
        self._beside = {span.span_id for span in assembly.beside}
        self._requests = {s.span_id: s for s in self._outer if self._may_be_request(s)}
        self._parents = {span.span_id: span.parent_span_id for span in self._outer}

    def _may_be_request(self, span: Span) -> bool:
        assembly = self._assembly
        if assembly.role(span) not in REQUEST_ROLES and not assembly.wraps_calls(span):
            return False
        if assembly.is_inside(span, NOT_ANSWERING) or assembly.is_well_inside(span, _STEPS):
            return False
        if assembly.role(span) is Role.OTHER and span.span_id in self._beside:
            return False
        return bool(speakers(span))

    # --- what answered ---

    def chosen(self) -> _Unit | None:
        """The span whose output is the answer; None: no request says it, ask the calls."""
        root = self._assembly.root
        if root.span_id in self._requests:
            text = self._answer_of(root)
            if text is not None:
                return _Unit(root, text, self._answering, searched=True)
            if self._question_of(root) is not None or self._assembly.role(root) is not Role.OTHER:
                return None
        return self._best(self._units())

    def _units(self) -> Iterator[_Unit]:
        """Outermost requests that say an answer, and calls that are in none of them."""
        covered: dict[str, str] = {}
        answered: dict[str, tuple[Span, str]] = {}
        for span in self._outer:
            above = covered.get(span.parent_span_id or "")
            if above is not None:
                covered[span.span_id] = above
            elif span.span_id in self._requests and (text := self._answer_of(span)) is not None:
                covered[span.span_id] = span.span_id
                answered[span.span_id] = (span, text)
        searched = {covered.get(search.span.span_id) for search in self._searches}
        for span_id, (span, text) in answered.items():
            calls = [item for item in self._answering if covered.get(item[0].span_id) == span_id]
            yield _Unit(span, text, calls, span_id in searched)
        yield from _call_units(item for item in self._answering if item[0].span_id not in covered)

    def _best(self, units: Iterable[_Unit]) -> _Unit | None:
        """Of several the one that the user most likely saw."""
        return max(units, key=self._likelihood, default=None)

    def _likelihood(self, unit: _Unit) -> tuple[bool | int, ...]:
        assembly = self._assembly
        ended = 0 if assembly.partial else assembly.root.end_ns
        return (
            plain_text(unit.answer) is not None,
            failure_of(unit.span) is None,
            not _is_side_task(unit),
            not 0 < ended <= unit.span.start_ns,
            bool(unit.calls),
            unit.searched or any(self._saw_passages(call) for call in unit.calls),
            any(call[1].streamed is True for call in unit.calls),
            unit.span.end_ns,
        )

    def _saw_passages(self, item: SpanCall) -> bool:
        call = item[1]
        prompts = [*call.user_messages, call.system or ""]
        return any(text in prompt for text in self._texts for prompt in prompts)

    def answer(self, chosen: _Unit | None, final: str | None) -> SourcedText:
        """The answer.

        Only from a request itself or from a model call. A chain inside would also have an output,
        but on a failed request that is what was passed through, not what the user saw.
        """
        if chosen is not None and chosen.span.span_id in self._requests:
            return SourcedText(text=chosen.answer, source="root")
        if failure_of(self._assembly.root) is not None:
            return SourcedText()
        if final is not None:
            return SourcedText(text=final, source="tool")
        if chosen is None:
            chosen = self._best(_call_units(self._answering))
        if chosen is not None:
            return SourcedText(text=chosen.answer, source="llm")
        inner = self._best(self._units())
        if inner is None or failure_of(inner.span) is not None:
            return SourcedText()
        return SourcedText(text=inner.answer, source="outer")

    def call(self, answer: str | None, chosen: _Unit | None) -> SpanCall | None:
        """The call that wrote the answer: whose text it is, else the likeliest in what answered."""
        own = [item for item in self._calls if answer is not None and item[1].output == answer]
        if own:
            return own[-1]
        inside = self._answering if chosen is None else chosen.calls
        for calls in (inside, self._answering):
            best = self._best(_call_units(calls))
            if best is not None:
                return best.calls[0]
        return next(iter(reversed(self._answering)), None)

    # --- what was asked ---

    def question(self, chosen: _Unit | None, call: SpanCall | None) -> SourcedText:
        """The question, looked for from the outside in.

        The root, what answered, other requests inside, the retriever's query, the model call.
        """
        root = self._assembly.root
        first = {root.span_id, *self._above(call)}
        if chosen is not None:
            first.add(chosen.span.span_id)
        others = [span for span in self._requests.values() if not names_side_task(_names(span))]
        for span in sorted(others, key=lambda span: span.span_id not in first):
            text = self._question_of(span)
            if text is not None and (span.span_id in first or _reached_model(text, call)):
                return SourcedText(text=text, source="root" if span is root else "outer")
        query = next((s.query for s in self._searches if s.query is not None), None)
        sent = self._question_to_model(call, query)
        if sent is not None:
            return SourcedText(text=sent, source="llm")
        return SourcedText() if query is None else SourcedText(text=query, source="retriever")

    def _above(self, call: SpanCall | None) -> Iterator[str]:
        """Ids of what surrounds the call that answered."""
        at = call[0].parent_span_id if call is not None else None
        seen: set[str] = set()
        while at is not None and at not in seen:
            seen.add(at)
            yield at
            at = self._parents.get(at)

    def _question_to_model(self, call: SpanCall | None, query: str | None) -> str | None:
        """What the model was asked; None where that is a prompt around the retriever's query."""
        if call is None or call[1].question is None:
            questions = [c.question for _, c in self._answering if c.question is not None]
            return questions[-1] if questions and query is None else None
        echoed = self._echoed(call)
        if echoed is not None:
            return echoed
        last = call[1].question
        if query is None:
            return last
        made = query in last or len(last) > _LONGEST or any(t in last for t in self._texts)
        return None if made else last

    def _echoed(self, item: SpanCall) -> str | None:
        """The question of the earliest other call, where it is in what this one was given.

        Agents call the model again and again, and what they add in the user's name are results;
        routers get the plain question, and prompts are made around it.
        """
        for other, call in self._answering:
            text = call.question
            if (
                other is not item[0]
                and text
                and any(text in message for message in item[1].user_messages)
            ):
                return text
        return None

    def _question_of(self, span: Span) -> str | None:
        """The question in a request's input; as it is written, if the model was asked just that.

        A text that is JSON is what somebody wrote only if nobody knows that the model was asked
        something else.
        """
        if self._assembly.role(span) is Role.AGENT:
            text = ask(span, lambda convention: convention.agents_question(span))
        else:
            text = ask(span, lambda convention: convention.question(span))
        if not self._user_messages or text in self._user_messages:
            return text
        given = ask(span, lambda convention: convention.given(span))
        if isinstance(given, str) and given in self._user_messages:
            return given
        if text is None or plain_text(text) is not None:
            return text
        return text if any(text in message for message in self._user_messages) else None

    def _answer_of(self, span: Span) -> str | None:
        return ask(span, lambda convention: convention.answer(span))


def _reached_model(text: str, call: SpanCall | None) -> bool:
    """Whether the model was asked that, as far as anybody knows what it was asked."""
    user_messages = call[1].user_messages if call is not None else ()
    return not user_messages or any(text in message for message in user_messages)


def _call_units(calls: Iterable[SpanCall]) -> Iterator[_Unit]:
    for item in calls:
        if item[1].output is not None:
            yield _Unit(item[0], item[1].output, [item], searched=False)


def _is_side_task(unit: _Unit) -> bool:
    if names_side_task(_names(unit.span)):
        return True
    instructions = [(call.system, call.question) for _, call in unit.calls[:1]] or [
        _given(unit.span)
    ]
    return any(instructs_side_task(text) for text in instructions[0] if text)


def _given(span: Span) -> tuple[str | None, str | None]:
    """Instructions and question in what was given to a span that has no call in it."""
    user_messages, system = input_of(ask(span, lambda convention: convention.given(span)))
    return system, user_messages[-1] if user_messages else None


def _names(span: Span) -> str:
    """What the span is called, in words: `RouterChain` and `route_question` have two."""
    names = (span.attributes.get(name) for name in semconv.STEP_NAMES)
    joined = " ".join([span.name, *(name for name in names if isinstance(name, str))])
    return _WORD_END.sub(" ", joined)
