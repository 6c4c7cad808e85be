"""The spans of one trace as a tree: which span is the request, and what part each other plays."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.ingest.conventions.base import Role
from rag_monitor.ingest.conventions.reading import role_of

_REMOTE_PARENT: Final = 0x200
_RETRIEVAL: Final = frozenset({Role.RETRIEVER, Role.RERANKER})


@dataclass(slots=True)
class _Node:
    """What the walk from the roots found out about one span."""

    role: Role
    depth: int = 0
    above: frozenset[Role] = frozenset()
    """Roles of all ancestors."""
    inside: frozenset[Role] = frozenset()
    """Roles of the ancestors but the outermost."""
    calls_below: bool = False
    """A model call has another model call below it: it is a wrapper."""
    wrapper: Span | None = None
    """The model call that a model call stands in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """One trace, laid out. Make it with `assemble`.

    >>> from rag_monitor.domain.span import Span
    >>> def span(id_, parent, kind):
    ...     return Span(trace_id="7" * 32, span_id=id_, parent_span_id=parent, name=kind.lower(),
    ...                 start_ns=1, end_ns=2, attributes={"openinference.span.kind": kind})
    >>> spans = [span("a", None, "CHAIN"), span("b", "a", "RETRIEVER"), span("c", "a", "LLM")]
    >>> assembly = assemble(spans)
    >>> assembly.root.name, [call.name for call in assembly.calls()]
    ('chain', ['llm'])
    >>> [search.name for search in assembly.retrievals(Role.RETRIEVER)]
    ['retriever']
    """

    root: Span
    """The request, or the earliest root."""
    roots: int
    """Spans without a parent in the trace."""
    marked: bool
    """The sender says that `root` is the request."""
    partial: bool
    """The real root was never sent: how long the request took is unknown."""
    spans: tuple[Span, ...]
    """By start time; only those below `root` when it is marked."""
    below: tuple[Span, ...]
    """`root` and its descendants, outermost first."""
    beside: tuple[Span, ...]
    """All others, outermost first, where the real root was never sent."""
    _nodes: dict[str, _Node] = field(repr=False)

    def role(self, span: Span) -> Role:
        """What part the span plays."""
        return self._nodes[span.span_id].role

    def retrievals(self, role: Role) -> list[Span]:
        """The outermost retrievers or rerankers: frameworks nest several around one search."""
        return [s for s in self._of(role) if not self._nodes[s.span_id].above & _RETRIEVAL]

    def tools(self) -> list[Span]:
        """The outermost tool calls."""
        return [s for s in self._of(Role.TOOL) if Role.TOOL not in self._nodes[s.span_id].above]

    def calls(self) -> list[Span]:
        """The innermost model calls: wrappers repeat their tokens, and a judge is no part of it."""
        return [
            s
            for s in self._of(Role.LLM)
            if not self._nodes[s.span_id].calls_below
            and Role.EVALUATOR not in self._nodes[s.span_id].above
        ]

    def workflows(self) -> list[Span]:
        """The outermost workflow at or below the root."""
        kinds = frozenset({Role.WORKFLOW, Role.AGENT, Role.CHAIN})
        return [
            s
            for s in self.below
            if self.role(s) in kinds and not self._nodes[s.span_id].above & kinds
        ]

    def is_inside(self, span: Span, roles: frozenset[Role]) -> bool:
        """Whether the span is a part of a span that plays one of these parts."""
        return not self._nodes[span.span_id].above.isdisjoint(roles)

    def is_well_inside(self, span: Span, roles: frozenset[Role]) -> bool:
        """The same, apart from the outermost: whatever came from outside has some part."""
        return not self._nodes[span.span_id].inside.isdisjoint(roles)

    def wrapper(self, call: Span) -> Span | None:
        """The model call that this one stands in: frameworks nest several around one request."""
        return self._nodes[call.span_id].wrapper

    def wraps_calls(self, span: Span) -> bool:
        """Whether it is a model call that has another one below it."""
        return self._nodes[span.span_id].calls_below

    def _of(self, role: Role) -> Iterator[Span]:
        return (span for span in self.spans if self._nodes[span.span_id].role is role)


def assemble(spans: Sequence[Span]) -> Assembly:
    """Lay out the spans of one trace (each span id once, at least one span)."""
    ordered = sorted(spans, key=lambda span: (span.start_ns, span.span_id))
    ids = {span.span_id for span in ordered}
    tops = [span for span in ordered if _is_root(span, ids)]
    children: dict[str, list[Span]] = {}
    for span in ordered:
        if span.parent_span_id in ids:
            children.setdefault(str(span.parent_span_id), []).append(span)
    nodes = {span.span_id: _Node(role_of(span)) for span in ordered}
    _walk([span for span in ordered if span.parent_span_id not in ids], children, nodes, ordered)
    marks = [span for span in ordered if is_marked(span)]
    root = (marks or tops or ordered)[0]
    below = tuple(_below([root], children))
    lost = bool(root.parent_span_id) and root.parent_span_id not in ids
    partial = lost and not marks and len(tops) > 1
    others = [span for span in tops if span is not root] if partial else []
    return Assembly(
        root=root,
        roots=max(1, len(tops)),
        marked=bool(marks),
        partial=partial,
        spans=tuple(sorted(below, key=lambda s: (s.start_ns, s.span_id)))
        if marks
        else tuple(ordered),
        below=below,
        beside=tuple(_below(others, children)),
        _nodes=nodes,
    )


def is_marked(span: Span) -> bool:
    """Whether the sender says that this span is the request, whatever parent it has."""
    return (
        span.attributes.get(semconv.APP_ROOT) is True
        or span.attributes.get(semconv.LF_APP_ROOT) is True
    )


def is_moment(span: Span) -> bool:
    """Whether the span has no length: it notes something, such as the end of a stream."""
    return span.start_ns == span.end_ns > 0


def _is_root(span: Span, ids: set[str]) -> bool:
    return span.parent_span_id not in ids or bool(span.flags & _REMOTE_PARENT)


def _walk(
    tops: Sequence[Span],
    children: dict[str, list[Span]],
    nodes: dict[str, _Node],
    ordered: Sequence[Span],
) -> None:
    """Fill the nodes from the roots down. Parents in a circle are entered at their earliest."""
    seen: set[str] = set()
    queue: deque[tuple[Span, _Node | None, Span | None]] = deque((s, None, None) for s in tops)
    rest = iter(ordered)
    while True:
        if not queue:
            entry = next((span for span in rest if span.span_id not in seen), None)
            if entry is None:
                return
            queue.append((entry, None, None))
        span, parent, call = queue.popleft()
        if span.span_id in seen:
            continue
        seen.add(span.span_id)
        node = nodes[span.span_id]
        if parent is not None:
            node.depth = parent.depth + 1
            node.above = _joined(parent.above, parent.role)
            node.inside = _joined(parent.inside, parent.role) if parent.depth else parent.inside
        if node.role is Role.LLM:
            node.wrapper = call
            if call is not None and not is_moment(span):
                nodes[call.span_id].calls_below = True
            call = span
        queue.extend((child, node, call) for child in children.get(span.span_id, ()))


def _joined(roles: frozenset[Role], role: Role) -> frozenset[Role]:
    """With one more; the same object where it is in already, as chains may be thousands deep."""
    return roles if role in roles else roles | {role}


def _below(tops: Sequence[Span], children: dict[str, list[Span]]) -> Iterator[Span]:
    """The spans and their descendants, outermost first."""
    seen = {span.span_id for span in tops}
    queue = deque(tops)
    while queue:
        span = queue.popleft()
        yield span
        for child in children.get(span.span_id, ()):
            if child.span_id not in seen:
                seen.add(child.span_id)
                queue.append(child)
