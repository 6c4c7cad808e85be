"""Passages of a row in the shapes that retrievers, tables and other tools give them.

What a passage is remains the business of `ingest.passages`; here lists are taken apart, and what
is no passage is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rag_monitor.domain.trace import RetrievedDocument
from rag_monitor.i18n import Message
from rag_monitor.ingest.passages import documents_in
from rag_monitor.ingest.values import real, structured
from rag_monitor.offline.cells import UnreadableField

_KINDS: Final = {
    type(None): "null",
    bool: Message("a boolean"),
    int: Message("a number"),
    float: Message("a number"),
    list: Message("a list"),
}


def read_passages(value: Any, where: str = "contexts") -> tuple[Any, list[str]]:
    """A row's passages as Trace JSON has them, and what was left out because it is none.

    Args:
        value: The field. What is no list and holds none comes back as it is.
        where: Its name, for what is said.

    Raises:
        UnreadableField: There is something, and none of it is a passage.
    """
    if isinstance(value, Mapping):
        value = _from_object(value, where)
    if not isinstance(value, list | tuple):
        return value, []
    passages: list[Any] = []
    unread: list[str] = []
    for name, item in _flat(value, where):
        passage = _passage(item)
        if passage is None:
            unread.append(_no_passage(name, _shown(item)))
        else:
            passages.append(passage)
    if unread and not passages:
        raise UnreadableField(unread[0])
    return passages, unread


def with_ids(passages: Any, ids: Any) -> Any:
    """Passages with ids from a column of their own; of ids alone the texts are unknown.

    Raises:
        UnreadableField: There are not as many ids as passages.
    """
    names = listed_ids(ids)
    if not isinstance(names, list):
        raise UnreadableField("`retrieved_context_ids` must be a list of ids")
    if not passages:
        return [{"id": name} for name in names]
    if len(names) != len(passages):
        raise UnreadableField(
            "`retrieved_context_ids` has {ids} ids for {passages} passages",
            ids=len(names),
            passages=len(passages),
        )
    return [
        {**(passage if isinstance(passage, Mapping) else {"content": passage}), "id": name}
        for passage, name in zip(passages, names, strict=True)
    ]


def listed_ids(value: Any) -> Any:
    """Ids as a list of texts, or an object of id and grade; anything else comes back as it is."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return value
    is_list = isinstance(value, list | tuple) and all(
        isinstance(item, str | int | float) and not isinstance(item, bool) for item in value
    )
    # A column of numbers with gaps is one of floats.
    return [_id(item) for item in value] if is_list else value


def _id(item: str | float) -> str:
    return str(int(item)) if isinstance(item, float) and item.is_integer() else str(item)


def _from_object(value: Mapping[str, Any], where: str) -> Any:
    """The list in a search result or in the columns of a nested table; else a list of the one."""
    documents = documents_in(value)
    if documents is not None:
        return [_written(document) for document in documents]
    if not value:
        raise UnreadableField(_no_passage(where, Message("an empty object")))
    return [value]


def _flat(items: Sequence[Any], where: str) -> Iterator[tuple[str, Any]]:
    """The items with their places; lists among them are taken apart, pairs with a score are not."""
    for place, item in enumerate(items):
        name = f"{where}[{place}]"
        scored = isinstance(item, list | tuple) and len(item) == 2 and real(item[1]) is not None
        if isinstance(item, list | tuple) and not scored:
            yield from ((f"{name}[{n}]", inner) for n, inner in enumerate(item))
        else:
            yield name, item


def _passage(item: Any) -> Any:
    """A passage as Trace JSON has it; None: it is none."""
    if isinstance(item, str):
        inside = structured(item)
        read = _document(inside) if isinstance(inside, Mapping | list) else None
        return item if read is None or read.get("content") is None else read
    read = _document(item) if isinstance(item, Mapping | list | tuple) else None
    if isinstance(item, Mapping) and isinstance(item.get("content"), str):
        given = {name: value for name, value in item.items() if value is not None}
        return {**(read or {}), **given}
    # A text that is null is withheld.
    withheld = isinstance(item, Mapping) and item.get("content", item) is None
    return item if read is None and withheld else read


def _document(item: Any) -> dict[str, Any] | None:
    documents = documents_in([list(item) if isinstance(item, tuple) else item])
    if not documents or (documents[0].content is None and documents[0].id is None):
        return None
    return _written(documents[0])


def _written(document: RetrievedDocument) -> dict[str, Any]:
    fields = {name: getattr(document, name) for name in ("id", "content", "score")}
    fields |= {"knowledge_base": document.knowledge_base, "metadata": dict(document.metadata)}
    return {name: value for name, value in fields.items() if value not in (None, {})}


def _no_passage(name: str, shown: Message) -> Message:
    return Message(
        "`{name}` cannot be read: {shown}; a passage is a text, or an object with `content`, "
        "`page_content` or `text`",
        name=name,
        shown=shown,
    )


def _shown(item: object) -> Message:
    if isinstance(item, Mapping):
        names = ", ".join(f"`{str(name)[:40]}`" for name in list(item)[:5])
        return Message("an object with {names}", names=names or Message("nothing"))
    return Message("it is {kind}", kind=_KINDS.get(type(item), type(item).__name__))
