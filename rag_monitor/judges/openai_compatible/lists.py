"""Short texts written by the model: regenerated questions, statements, key points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rag_monitor.errors import JudgeOutputInvalid
from rag_monitor.judges import parsing
from rag_monitor.judges.hardening import draw_boundary, draw_nonce, fenced
from rag_monitor.judges.limits import Deadline
from rag_monitor.judges.openai_compatible.capabilities import AdaptiveChat
from rag_monitor.judges.openai_compatible.meter import Meter
from rag_monitor.judges.openai_compatible.refused import RequestRefused
from rag_monitor.judges.prompts import PromptSet

_TOKENS_PER_TEXT: Final = 80


class ListWriter:
    """Asks a model for lists of texts; what it may see is what the caller passes, nothing else."""

    def __init__(self, chat: AdaptiveChat, reasks: int) -> None:
        self._chat = chat
        self._reasks = reasks

    async def write(
        self,
        kind: str,
        count: int,
        evidence: Mapping[str, Any],
        prompts: PromptSet,
        deadline: Deadline,
        meter: Meter,
        *,
        exactly: bool = False,
    ) -> list[str]:
        """Up to `count` texts of `kind` (a key of the prompts' `generate`).

        Args:
            kind: What to write.
            count: How many at most.
            evidence: Cleaned texts the model sees.
            prompts: The language.
            deadline: Of the judgement.
            meter: Counts what it costs.
            exactly: Fewer than `count` are not enough.

        Raises:
            JudgeOutputInvalid: No usable list came, however often it was asked for.
            JudgeError: See `AdaptiveChat.structured`.
        """
        before, after = prompts.generate[kind]
        refusal = JudgeOutputInvalid("no list was asked for")
        for _ in range(1 + self._reasks):
            nonce = draw_nonce()
            asked = f'{before}{count}{after} {{"{parsing.NONCE}": "{nonce}", "{kind}": ["…"]}}'
            messages = [
                {"role": "system", "content": prompts.generate_system},
                {"role": "user", "content": fenced(draw_boundary(), evidence) + "\n" + asked},
            ]
            reply = await self._chat.structured(
                messages, _schema(kind, nonce), 40 + _TOKENS_PER_TEXT * count, deadline, meter
            )
            try:
                found = _read(kind, count, reply.object(nonce))
            except RequestRefused:
                raise
            except JudgeOutputInvalid as error:
                refusal = error
                continue
            if len(found) == count or not exactly:
                return found
            refusal = JudgeOutputInvalid(
                "{there} of {count} {kind}", there=len(found), count=count, kind=kind
            )
        raise refusal


def _schema(kind: str, nonce: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            parsing.NONCE: {"type": "string", "enum": [nonce]},
            kind: {"type": "array", "items": {"type": "string"}},
        },
        "required": [parsing.NONCE, kind],
        "additionalProperties": False,
    }


def _read(kind: str, count: int, reply: Mapping[str, Any]) -> list[str]:
    parsing.only(reply, [parsing.NONCE, kind])
    return parsing.texts(reply.get(kind), count, kind)
