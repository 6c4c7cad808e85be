"""Reading Coze's messages: recalls, function calls, their names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

_WORKFLOW: Final = "workflow"


def recall_in(message: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The passages of a knowledge recall; `[]` recalled nothing, None is no recall.

    The original request inside (`ori_req`) repeats the conversation and is left behind.
    """
    if message.get("type") not in ("verbose", "knowledge"):
        return None
    content = _json(message.get("content"))
    if not isinstance(content, Mapping):
        return None
    if "msg_type" in content and content["msg_type"] != "knowledge_recall":
        return None
    data = _json(content.get("data", content))
    chunks = data.get("chunks") if isinstance(data, Mapping) else None
    if not isinstance(chunks, Sequence):
        return None
    return [_passage(chunk) for chunk in chunks if isinstance(chunk, Mapping)]


def _passage(chunk: Mapping[str, Any]) -> dict[str, Any]:
    text = chunk.get("slice")
    meta = _mapping(chunk.get("meta"))
    dataset, document = _mapping(meta.get("dataset")), _mapping(meta.get("document"))
    digest = hashlib.sha256(str(text).encode()).hexdigest()[:12]  # slices have no id of their own
    return {
        "id": f"{document.get('id') or 'slice'}:{digest}",
        "content": text,
        "score": chunk.get("score"),
        "knowledge_base": str(dataset.get("name") or dataset.get("id") or "coze"),
        "metadata": {"document": document.get("name")} if document.get("name") else {},
    }


def call_in(message: Mapping[str, Any]) -> tuple[str, str] | None:
    """Kind (`plugin` or `workflow`) and name of a function call; None for other messages."""
    if message.get("type") != "function_call":
        return None
    content = _mapping(_json(message.get("content")))
    meta = _mapping(message.get("meta_data"))
    function = _mapping(content.get("function"))
    name = (
        content.get("plugin_name")
        or meta.get("plugin")
        or content.get("name")
        or function.get("name")
        or meta.get("tool_name")
        or "plugin"
    )
    marks = f"{content.get('plugin_type')} {content.get('api_name')} {content.get('name')}"
    return ("workflow" if _WORKFLOW in marks.lower() else "plugin"), str(name)


def failed(message: Mapping[str, Any]) -> bool:
    """Whether a tool response reports an error."""
    content = _json(message.get("content"))
    if not isinstance(content, Mapping):
        return False
    code = content.get("code", content.get("error_code"))
    return bool(content.get("error")) or (isinstance(code, int) and code != 0)


def _json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
