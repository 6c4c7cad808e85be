"""What a trace can be taken along as: a command that reads it from the API."""

from __future__ import annotations

import shlex


def curl_command(address: str, trace_id: str) -> str:
    """A command that reads the trace from the API; the key stays in the caller's environment."""
    return (
        'curl -H "Authorization: Bearer $RAG_MONITOR_API_KEY" '
        f"{shlex.quote(f'{address}/api/v1/traces/{trace_id}')}"
    )
