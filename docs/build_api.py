"""Writes `docs/api.md` from the OpenAPI document of a running monitor.

python docs/build_api.py http://127.0.0.1:8700
"""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

PAGE: Final = Path(__file__).with_name("api.md")
_HEAD: Final = """\
# HTTP interface

Every parameter, field and schema is at `/openapi.json` and `/docs` of your monitor. Python has a [client](data.md);
lists take the [filters of the pages](pages.md#filters).

- **Keys**: `X-API-Key: …` or `Authorization: Bearer …` ([scopes](security.md#keys)).
- **Times** are ISO 8601 with a zone: `window=24h`, or `from` and `to`. Windows are whole minutes; `start` and `end` say
  which.
- **Pages**: `next_cursor` of an answer is the `cursor` of the next request.
- **Names** that nothing stored has give an empty answer, with the nearest name in `hints`. Unknown parameters, metrics
  and filters are refused (422).
- **Errors** are problem JSON (RFC 9457) with a sentence in `detail`; on `/v1` a `google.rpc.Status`. 429 and 503 carry
  `Retry-After`.

A trace in, and its scores out:

```bash
curl -s http://127.0.0.1:8700/api/v1/traces -H 'content-type: application/json' -d '{
  "id": "q-1", "app": "bank-faq", "question": "How long is the warranty?",
  "contexts": [{"id": "doc-7", "content": "The standard warranty lasts 24 months."}],
  "answer": "The warranty lasts 24 months."
}'
curl -s "http://127.0.0.1:8700/api/v1/traces?app=bank-faq&limit=1"
curl -s "http://127.0.0.1:8700/api/v1/summary?window=24h"
```
"""

_TRACE_JSON: Final = """\
## Trace JSON

A trace needs a `question` or an `answer`. Unknown names are ignored and listed in `unknown_fields` of the answer.

| field | meaning |
|---|---|"""


def page(document: Mapping[str, Any]) -> str:
    """The page for an OpenAPI document, deterministic."""
    groups: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            row = _row(method, path, operation)
            groups.setdefault((operation.get("tags") or ["Other"])[0], []).append(row)
    parts = [_HEAD]
    for tag, rows in groups.items():
        head = f"## {tag}\n\n| | |\n|---|---|\n"
        parts.append(head + "\n".join(rows) + "\n")
    parts.append(_trace_json(document["components"]["schemas"]["TraceJson"]))
    return "\n".join(parts)


def _trace_json(schema: Mapping[str, Any]) -> str:
    """Every field that `POST /api/v1/traces` and `rag-monitor import` read."""
    rows = [f"| `{name}` | {_told(part)} |" for name, part in schema["properties"].items()]
    return "\n".join([_TRACE_JSON, *rows, ""])


def _told(part: Mapping[str, Any]) -> str:
    """What a field means, and the members of what it holds."""
    items = part.get("items", {}).get("anyOf", [{}])[-1]
    members = part.get("properties") or items.get("properties", {})
    named = ", ".join(f"`{name}`" for name in members)
    return f"{part['description']} Members: {named}." if named else str(part["description"])


def _row(method: str, path: str, operation: Mapping[str, Any]) -> str:
    first = (operation.get("description") or operation["summary"]).split("\n\n")[0]
    said = " ".join(first.split()).replace("|", "\\|")
    return f"| `{method.upper()} {path}` | {said} |"


def main() -> int:
    """Fetch the document and write the page."""
    with urllib.request.urlopen(f"{sys.argv[1].rstrip('/')}/openapi.json", timeout=30) as reply:
        document = json.load(reply)
    PAGE.write_text(page(document), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
