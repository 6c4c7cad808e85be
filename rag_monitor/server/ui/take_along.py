"""Commands that send a trace and read one."""

from __future__ import annotations

import json
import shlex
from typing import Final

_WITH_KEY: Final = 'curl -H "Authorization: Bearer $RAG_MONITOR_API_KEY"'
"""The key stays in the caller's environment; a server that asks for none passes it over."""
_FIRST_TRACE: Final = {
    "app": "my-app",
    "question": "How long is the warranty?",
    "contexts": ["The warranty lasts 24 months."],
    "answer": "It lasts 24 months.",
}


def curl_command(address: str, trace_id: str) -> str:
    """A command that reads the trace from the API."""
    return f"{_WITH_KEY} {shlex.quote(f'{address}/api/v1/traces/{trace_id}')}"


def sending_command(address: str) -> str:
    """A command that sends a first trace, to be changed into one's own."""
    fields = ",\n".join(f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in _FIRST_TRACE.items())
    body = f"{{\n{fields}\n  }}"
    return (
        f"{_WITH_KEY} \\\n  -H 'Content-Type: application/json' \\\n"
        f"  {shlex.quote(f'{address}/api/v1/traces')} -d {shlex.quote(body)}"
    )
