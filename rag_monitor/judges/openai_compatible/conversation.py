"""Asks a model about a whole conversation: one question, one call, fenced like every other."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final

from rag_monitor.domain.conversation import EarlierTurn
from rag_monitor.domain.session_verdict import ConversationRequest
from rag_monitor.errors import JudgeOutputInvalid
from rag_monitor.judges import parsing, prompts
from rag_monitor.judges.hardening import clean, cut_to_fit, draw_boundary, draw_nonce, fenced
from rag_monitor.judges.limits import Deadline
from rag_monitor.judges.openai_compatible.capabilities import AdaptiveChat
from rag_monitor.judges.openai_compatible.meter import Meter
from rag_monitor.judges.openai_compatible.refused import FINAL, TooLong
from rag_monitor.judges.openai_compatible.structured import InputBudget
from rag_monitor.language.script import Script, detect_script

_FIELD: Final = "goal_reached"
_FILE: Final = "conversation.toml"
_MAX_TOKENS: Final = 72
CANARY_LEAKED: Final = "canary_leaked"


class ConversationAsker:
    """Puts the question; asks again where a reply is unusable, at most `reasks` times."""

    def __init__(self, chat: AdaptiveChat, canary: str, reasks: int) -> None:
        self._chat = chat
        self._canary = canary
        self._reasks = reasks

    async def ask(
        self, request: ConversationRequest, budget: InputBudget, deadline: Deadline, meter: Meter
    ) -> float:
        """The probability that the user got what they came for; notes of `meter` say what is odd.

        Raises:
            JudgeOutputInvalid: No reply was usable.
            JudgeError: No reply came.
        """
        words = _words(request.turns)
        left = self._reasks
        while True:
            try:
                return await self._once(request, words, budget, deadline, meter)
            except FINAL:
                raise
            except JudgeOutputInvalid:
                if not left:
                    raise
                left -= 1

    async def _once(
        self,
        request: ConversationRequest,
        words: Mapping[str, str],
        budget: InputBudget,
        deadline: Deadline,
        meter: Meter,
    ) -> float:
        nonce = draw_nonce()
        while True:
            messages = self._messages(request, words, nonce, budget.max_chars)
            try:
                reply = await self._chat.structured(
                    messages, _schema(nonce), _MAX_TOKENS, deadline, meter
                )
                break
            except TooLong as refused:
                budget.halve(refused)
        if any(self._canary in text for text in reply.texts):
            meter.notes.add(CANARY_LEAKED)
        fields = reply.object(nonce)
        parsing.only(fields, [parsing.NONCE, _FIELD])
        return parsing.probability(fields.get(_FIELD), _FIELD)

    def _messages(
        self, request: ConversationRequest, words: Mapping[str, str], nonce: str, room: int
    ) -> list[dict[str, str]]:
        evidence = fenced(draw_boundary(), _evidence(request, room))
        question = (
            f"{words['closing']}\n"
            f'"{parsing.NONCE}": {words["nonce"]} "{nonce}"\n'
            f'"{_FIELD}": {words[_FIELD]}'
        )
        return [
            {"role": "system", "content": words["system"].replace("{canary}", self._canary)},
            {"role": "user", "content": f"{evidence}\n{question}"},
        ]


def _evidence(request: ConversationRequest, room: int) -> dict[str, Any]:
    """The turns, long texts cut first so that all fit: every turn may matter."""
    texts = [clean(text) for turn in request.turns for text in (turn.question, turn.answer)]
    shown = iter(cut_to_fit(texts, room))
    turns = [
        {"user": question, "system": answer} for question, answer in zip(shown, shown, strict=True)
    ]
    evidence: dict[str, Any] = {"turns": turns}
    if request.left_out:
        evidence = {"earlier_turns_left_out": request.left_out} | evidence
    return evidence


def _schema(nonce: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            parsing.NONCE: {"type": "string", "enum": [nonce]},
            _FIELD: {"type": "number", "minimum": 0, "maximum": 1},
        },
        "required": [parsing.NONCE, _FIELD],
        "additionalProperties": False,
    }


def _words(turns: Sequence[EarlierTurn]) -> Mapping[str, str]:
    """The prompts in the language of the conversation, as of a trace."""
    script = detect_script("\n".join(f"{turn.question}\n{turn.answer}" for turn in turns))
    return _load()["en" if script is Script.ENGLISH else "zh"]


@cache
def _load() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(_read().decode("utf-8"))


@cache
def conversation_prompts_hash() -> str:
    """Twelve hex digits naming the prompts; part of the identity of verdicts on sessions."""
    return hashlib.sha256(_read()).hexdigest()[:12]


def _read() -> bytes:
    source = resources.files(prompts.__name__).joinpath(_FILE).read_bytes()
    return source.replace(b"\r\n", b"\n")
