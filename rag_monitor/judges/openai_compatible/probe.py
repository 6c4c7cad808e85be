"""Asks a server small things to learn what it can do, before real traces depend on it."""

from __future__ import annotations

from typing import Final

from rag_monitor.errors import JudgeOutputInvalid
from rag_monitor.judges.limits import Deadline
from rag_monitor.judges.openai_compatible.capabilities import AdaptiveChat, Capabilities
from rag_monitor.judges.openai_compatible.meter import Meter
from rag_monitor.judges.parsing import parse_object

_SCHEMA: Final = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}
_MESSAGES: Final = (
    {"role": "system", "content": "Reply with exactly one JSON object and nothing else."},
    {"role": "user", "content": '{"ready": true} or {"ready": false}: are you ready?'},
)
_YES_NO: Final = ({"role": "user", "content": "Is water wet? Reply Yes or No."},)


async def probe_server(chat: AdaptiveChat, deadline: Deadline) -> Capabilities:
    """Two small requests; the answers land in `chat.capabilities`.

    Raises:
        JudgeError: The server is not reachable, refuses us or every shape of request.
        JudgeOutputInvalid: It replies to a request for JSON with something else.
    """
    meter = Meter()
    text = await chat.structured(_MESSAGES, _SCHEMA, 50, deadline, meter)
    if type(parse_object(text).get("ready")) is not bool:
        raise JudgeOutputInvalid("the model does not reply in the JSON it was asked for")
    await chat.one_token(_YES_NO, deadline, meter)
    return chat.capabilities
