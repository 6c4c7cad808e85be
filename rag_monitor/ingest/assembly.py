"""The spans of one trace as a tree: which span is the request, and what part each other plays."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from rag_monitor import semconv
from rag_monitor.domain.span import Span
from rag_monitor.ingest.conventions.roles import Role, role_of

_REMOTE_PARENT: Final = 0x200
_RETRIEVAL: Final = frozenset({Role.RETRIEVER, Role.RERANKER})


@dataclass(slots=True)
class _Node:
    """What the walk from the roots found out about one span."""

    role: Role
    depth: int = 0
    above: frozenset[Role] = frozenset()
    """Roles of all ancestors."""
    calls_below: bool = False
    """A model call has another model call below it: it is a wrapper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """One trace, laid out. Make it with `assemble`."""

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
    below = tuple(_below(root, children))
    lost = bool(root.parent_span_id) and root.parent_span_id not in ids
    return Assembly(
        root=root,
        roots=max(1, len(tops)),
        marked=bool(marks),
        partial=lost and not marks and len(tops) > 1,
        spans=tuple(sorted(below, key=lambda s: (s.start_ns, s.span_id)))
        if marks
        else tuple(ordered),
        below=below,
        _nodes=nodes,
    )


def is_marked(span: Span) -> bool:
    """Whether the sender says that this span is the request, whatever parent it has."""
    return (
        span.attributes.get(semconv.APP_ROOT) is True
        or span.attributes.get(semconv.LF_APP_ROOT) is True
    )


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
    queue: deque[tuple[Span, _Node | None, _Node | None]] = deque((s, None, None) for s in tops)
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
            node.above = (
                parent.above if parent.role in parent.above else parent.above | {parent.role}
            )
        if node.role is Role.LLM:
            if call is not None:
                call.calls_below = True
            call = node
        queue.extend((child, node, call) for child in children.get(span.span_id, ()))


def _below(root: Span, children: dict[str, list[Span]]) -> Iterator[Span]:
    seen = {root.span_id}
    queue = deque([root])
    while queue:
        span = queue.popleft()
        yield span
        for child in children.get(span.span_id, ()):
            if child.span_id not in seen:
                seen.add(child.span_id)
                queue.append(child)
