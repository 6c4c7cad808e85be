"""/docs: the OpenAPI document as a page. Ours, small, and it loads nothing from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from starlette.responses import HTMLResponse

from rag_monitor.server.ui.view import Viewer, page

router = APIRouter(include_in_schema=False)


@router.get("/docs")
def documentation(me: Viewer) -> HTMLResponse:
    """What the API takes and gives, for people."""
    document = me.request.app.openapi()
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, item in document["paths"].items():
        for method, operation in item.items():
            tag = operation.get("tags", ["API"])[0]
            groups.setdefault(tag, []).append(_operation(document, path, method, operation))
    base = me.services.settings.public_url or str(me.request.base_url).rstrip("/")
    return page(me, "docs.html", {"groups": groups, "base": base})


def _operation(
    document: Mapping[str, Any], path: str, method: str, operation: Mapping[str, Any]
) -> dict[str, Any]:
    content = operation.get("requestBody", {}).get("content", {})
    answer = next(iter(operation["responses"].values())).get("content", {})
    return {
        "path": path,
        "method": method,
        "description": operation.get("description", ""),
        "parameters": [_parameter(p) for p in operation.get("parameters", [])],
        "body": _example(document, content),
        "body_types": list(content),
        "answer": _example(document, answer),
    }


def _parameter(parameter: Mapping[str, Any]) -> dict[str, Any]:
    schema = parameter["schema"]
    return {
        "name": parameter["name"],
        "place": parameter["in"],
        "required": parameter.get("required", False),
        "type": _type_text(schema),
        "description": parameter.get("description") or schema.get("description", ""),
    }


def _type_text(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        texts = [_type_text(s) for s in schema["anyOf"] if s.get("type") != "null"]
        return " | ".join(texts)
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    text = schema.get("type", "any")
    limits = [f"{word} {schema[key]}".strip() for key, word in _LIMITS.items() if key in schema]
    return f"{text} ({', '.join(limits)})" if limits else str(text)


_LIMITS = {"format": "", "minimum": "≥", "maximum": "≤", "maxLength": "length ≤"}


def _example(document: Mapping[str, Any], content: Mapping[str, Any]) -> str | None:
    """The given example, or one made of the schema, as indented JSON."""
    media = content.get("application/json")
    if media is None:
        return None
    value = media["example"] if "example" in media else _sample(document, media["schema"], 0)
    return json.dumps(value, indent=2, ensure_ascii=False)


_BY_TYPE: Mapping[str, Any] = {
    "string": "…",
    "integer": 1,
    "number": 0.5,
    "boolean": True,
    "null": None,
    "object": {},
}


def _sample(document: Mapping[str, Any], schema: Mapping[str, Any], depth: int) -> Any:
    if depth > 6:
        return "…"
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return _sample(document, document["components"]["schemas"][name], depth + 1)
    if schema.get("examples"):
        return schema["examples"][0]
    fixed = [schema[key] for key in ("default", "const") if schema.get(key) is not None]
    fixed += schema.get("enum", [])
    if fixed:
        return fixed[0]
    if "anyOf" in schema:
        return _sample(document, schema["anyOf"][0], depth)
    if "properties" in schema:
        return {
            name: _sample(document, part, depth + 1) for name, part in schema["properties"].items()
        }
    if schema.get("type") == "array":
        return [_sample(document, schema.get("items", {}), depth + 1)]
    if schema.get("format") == "date-time":
        return "2026-01-05T12:00:00Z"
    return _BY_TYPE.get(schema.get("type", ""), "…")
