"""The calls of a trace: of models, each once, and of tools, with the passages among their results.

Agents search by tools, and what such a tool returns reaches the model as a retriever's passages do.
A list counts as passages if its items have a text and an id or a score, or if the tool's name says
that it searches; orders, prices and the weather are none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.ingest.assembly import Assembly, is_moment
from rag_monitor.ingest.content import answer_in, plain_text, question_in
from rag_monitor.ingest.conventions.base import Call, Tool
from rag_monitor.ingest.conventions.reading import ask, call_of, merge
from rag_monitor.ingest.message_parts import is_part, joined
from rag_monitor.ingest.messages import role_name
from rag_monitor.ingest.passages import documents_in
from rag_monitor.ingest.span_facts import Search, failure_of
from rag_monitor.ingest.values import present, printed, real, unwrapped

SpanCall = tuple[Span, Call]
"""A call, and the span that gives its times."""

_MAX_STREAM_S: Final = 86_400
_MAX_WRAPPERS: Final = 8


def calls_of(assembly: Assembly) -> list[SpanCall]:
    """The model calls by start, each once even when two instrumentations report it."""
    kept: list[SpanCall] = []
    seen: set[str] = set()
    spans = assembly.calls()
    leaves = Counter(wrapper.span_id for span in spans for wrapper in _wrappers(assembly, span))
    for span in spans:
        wrappers = [w for w in _wrappers(assembly, span) if leaves[w.span_id] == 1]
        call = merge([call_of(span), *map(call_of, wrappers)])
        if call.response_id is not None:
            if call.response_id in seen:
                continue
            seen.add(call.response_id)
        if is_moment(span) and call.output is not None:
            _add_record(kept, span, call)
        else:
            kept.append((span, call))
    return sorted(kept, key=lambda item: item[0].start_ns)


def _wrappers(assembly: Assembly, span: Span) -> Iterator[Span]:
    """The calls around a call, from the inside out; some say what the innermost leaves out."""
    wrapper = assembly.wrapper(span)
    for _ in range(_MAX_WRAPPERS):
        if wrapper is None:
            return
        yield wrapper
        wrapper = assembly.wrapper(wrapper)


def _add_record(kept: list[SpanCall], record: Span, call: Call) -> None:
    """Add a span without length: what was written down of a call once its stream had ended.

    It belongs to the last call before it at the same place that has no answer of its own. Where
    there is none, it is the call, and may say how long it took.
    """
    for at in range(len(kept) - 1, -1, -1):
        span, earlier = kept[at]
        same_place = record.parent_span_id in (span.parent_span_id, span.span_id)
        if same_place and earlier.output is None and span.start_ns <= record.start_ns:
            whole = replace(span, end_ns=max(span.end_ns, record.end_ns))
            kept[at] = (whole, replace(merge([call, earlier]), streamed=True))
            return
    seconds = real(record.attributes.get(semconv.LOGFIRE_DURATION))
    if seconds is not None and 0 < seconds < _MAX_STREAM_S:
        record = replace(record, start_ns=record.end_ns - round(seconds * 1e9))
        call = replace(call, streamed=True)
    kept.append((record, call))


_DEPTH: Final = 4
_FINAL: Final = "final_answer"
"""So smolagents calls the tool by which its agents answer."""
_SEARCHES: Final = re.compile(
    r"search|retriev|look_?up|knowledge|recall|(?:^|_)(?:rag|faq|docs?|kb)(?:_|$)"
    r"|检索|搜索|召回|查找|知识库",
    re.IGNORECASE,
)
"""In a tool's name, in snake case."""
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^\w]+")
_FRAMES: Final = ("tool_output", "blocks", "content", "json")
"""Members that hold what a tool returned: of LlamaIndex, MCP, Bedrock and others."""
_BESIDE: Final = frozenset(
    {
        "status", "isError", "is_error", "type", "block_type", "_meta", "id", "name", "toolUseId",
        "tool_use_id", "tool_call_id", "tool_id", "tool_name", "tool_kwargs", "raw_input",
        "raw_output", "structuredContent", "return_direct", "artifact",
    }
)  # fmt: skip
"""What may stand beside them. With anything else the whole is the result."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One outermost call of a tool."""

    span: Span
    tool: Tool
    documents: tuple[RetrievedDocument, ...] | None
    """The passages it returned; None: what it returned is no list of passages."""

    @property
    def items(self) -> int | None:
        """How many things it returned; None where that is no list."""
        if self.documents is not None:
            return len(self.documents)
        return len(self.tool.result) if isinstance(self.tool.result, list) else None

    def search(self) -> Search | None:
        """The same as a search; None when it found no passages."""
        if self.documents is None:
            return None
        return Search(
            span=self.span,
            query=question_in(self.tool.arguments, lone=True),
            documents=self.documents,
            knowledge_base=None,
            failure=failure_of(self.span),
        )


def tools_of(assembly: Assembly) -> list[ToolCall]:
    """The outermost tool calls."""
    return [_read(span) for span in assembly.tools()]


def _read(span: Span) -> ToolCall:
    read = ask(span, lambda convention: convention.tool(span)) or Tool(name=span.name)
    tool = Tool(name=read.name, arguments=_arguments(read.arguments), result=_result(read.result))
    return ToolCall(span, tool, _passages(tool))


def searches_by_tools(
    assembly: Assembly, tools: Iterable[ToolCall], searches: Iterable[Search]
) -> list[Search]:
    """The tool calls that found passages, but for those inside which another span is the search."""
    parents = {span.span_id: span.parent_span_id for span in assembly.spans}
    around: set[str] = set()
    for search in searches:
        at = parents.get(search.span.span_id)
        while at is not None and at not in around:
            around.add(at)
            at = parents.get(at)
    searched = (tool.search() for tool in tools if tool.span.span_id not in around)
    return [search for search in searched if search is not None]


def undivided_text(tools: Sequence[ToolCall]) -> str | None:
    """What tools that search returned as undivided text."""
    texts = [
        text
        for call in tools
        if call.documents is None
        and _is_search(call.tool.name)
        and (text := present(call.tool.result)) is not None
    ]
    return "\n\n".join(texts) or None


def final_answer(tools: Sequence[ToolCall]) -> str | None:
    """What an agent answered by calling the tool that ends its work."""
    given = [call.tool for call in tools if call.tool.name == _FINAL]
    if not given:
        return None
    return plain_text(given[-1].result) or answer_in(given[-1].arguments)


def _is_search(name: str) -> bool:
    return _SEARCHES.search(_HUMP.sub("_", name)) is not None


def _arguments(value: object) -> Any:
    """The arguments by name, without the call around them."""
    arguments = unwrapped(value)
    if isinstance(arguments, Mapping) and not arguments.get("args"):
        named = arguments.get("kwargs")
        if isinstance(named, Mapping) and named:
            return dict(named)
    return arguments


def _result(value: object) -> Any:
    """What the tool returned, without the framework's message or parts around it."""
    result = printed(unwrapped(value))
    for _ in range(_DEPTH):
        inner = _unframed(result)
        if inner is None:
            break
        result = printed(unwrapped(inner))
    return result


def _unframed(value: object) -> object | None:
    """What is inside the frame; None: there is no frame."""
    if isinstance(value, list):
        if not value or not all(is_part(item) or _is_json(item) for item in value):
            return None
        held = [p["json"] if _is_json(p) else printed(joined([p])) for p in value]
        return held[0] if len(held) == 1 else held
    if not isinstance(value, Mapping):
        return None
    if role_name(value) is not None:
        return value.get("content")
    for key in _FRAMES:
        inner = value.get(key)
        if isinstance(inner, (list, Mapping)) and value.keys() <= {key, *_BESIDE}:
            return inner
    return None


def _is_json(item: object) -> bool:
    """Whether it is a part that holds an object, as Bedrock's tools return it."""
    return isinstance(item, Mapping) and item.keys() == {"json"}


def _passages(tool: Tool) -> tuple[RetrievedDocument, ...] | None:
    result = tool.result
    if not isinstance(result, (list, Mapping)) or _is_conversation(result):
        return None
    documents = documents_in(result)
    if documents is None or any(document.content is None for document in documents):
        return None
    if _is_search(tool.name):
        return documents
    return documents if documents and all(map(_is_passage, documents)) else None


def _is_passage(document: RetrievedDocument) -> bool:
    return document.id is not None or document.score is not None or bool(document.metadata)


def _is_conversation(value: object) -> bool:
    items = value if isinstance(value, list) else []
    return any(isinstance(item, Mapping) and role_name(item) is not None for item in items)
