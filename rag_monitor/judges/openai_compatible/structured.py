"""Asks for verdicts, and for short texts, as JSON; again for those that are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rag_monitor.errors import JudgeOutputInvalid
from rag_monitor.judges import parsing
from rag_monitor.judges.hardening import draw_boundary, draw_nonce, fenced, gather_evidence
from rag_monitor.judges.limits import Deadline
from rag_monitor.judges.openai_compatible.capabilities import AdaptiveChat
from rag_monitor.judges.openai_compatible.meter import Meter
from rag_monitor.judges.openai_compatible.refused import FINAL, RequestRefused, TooLong
from rag_monitor.judges.openai_compatible.structured_prompt import Answers, StructuredPrompt
from rag_monitor.judges.prompts import PromptSet
from rag_monitor.judges.questions import Plan, Question

_MIN_CHARS: Final = 1_000


class InputBudget:
    """How much of the trace the model may see, and how much it saw."""

    def __init__(self, max_chars: int) -> None:
        self.max_chars = max_chars
        self.coverage = 1.0

    def halve(self, refused: TooLong) -> None:
        """Show half as much from now on.

        Args:
            refused: What the server said to what was shown.

        Raises:
            TooLong: Next to nothing is left to show.
        """
        if self.max_chars <= _MIN_CHARS:
            raise TooLong(
                "even a cut trace does not fit into the model's context: {refused}", refused=refused
            )
        self.max_chars //= 2


class StructuredAsker:
    """Puts questions to a model that fills in a form."""

    def __init__(self, chat: AdaptiveChat, canary: str) -> None:
        self._chat = chat
        self._canary = canary

    async def ask(
        self,
        plan: Plan,
        questions: Sequence[Question],
        lists: Sequence[str],
        prompts: PromptSet,
        budget: InputBudget,
        deadline: Deadline,
        meter: Meter,
        reasks: int,
    ) -> Answers:
        """Answers to `questions`; some may stay open after the last of `reasks` further calls.

        Raises:
            JudgeOutputInvalid: No reply was usable.
            JudgeUnavailable: No reply came, see `Limits.call`.
            JudgeTimeout: The same.
        """
        answers = Answers()
        refusal: JudgeOutputInvalid | None = None
        answered = False
        for _ in range(1 + reasks):
            prompt = _open_prompt(plan, questions, lists, answers)
            if not prompt.questions and not prompt.lists:
                break
            try:
                await self._round(prompt, plan, prompts, budget, deadline, meter, answers)
                answered = True
            except FINAL as error:
                if not answered:
                    raise
                answers.last_error = str(error)
                break  # what was answered before it stands
            except JudgeOutputInvalid as error:
                refusal = error
                answers.last_error = str(error)
        if refusal is not None and not answered:
            raise refusal
        return answers

    async def _round(
        self,
        prompt: StructuredPrompt,
        plan: Plan,
        prompts: PromptSet,
        budget: InputBudget,
        deadline: Deadline,
        meter: Meter,
        answers: Answers,
    ) -> None:
        while True:
            messages = self._messages(prompt, plan, prompts, budget)
            try:
                reply = await self._chat.structured(
                    messages, prompt.schema(), prompt.max_tokens, deadline, meter
                )
                break
            except TooLong as refused:
                budget.halve(refused)
        if any(self._canary in text for text in reply.texts):
            meter.notes.add("canary_leaked")
        prompt.read(reply.object(prompt.nonce), answers)

    def _messages(
        self, prompt: StructuredPrompt, plan: Plan, prompts: PromptSet, budget: InputBudget
    ) -> list[dict[str, str]]:
        evidence = gather_evidence(plan.request, budget.max_chars)
        budget.coverage = min(budget.coverage, evidence.coverage)
        data: dict[str, Any] = {**evidence.data, **prompt.evidence()}
        system = prompts.structured["system"].replace("{canary}", self._canary)
        return [
            {"role": "system", "content": system},
            {
                "role": "user",
                "content": fenced(draw_boundary(), data) + "\n" + prompt.text(prompts),
            },
        ]


def _open_prompt(
    plan: Plan, questions: Sequence[Question], lists: Sequence[str], answers: Answers
) -> StructuredPrompt:
    return StructuredPrompt(
        questions=tuple(q for q in questions if q not in answers.probabilities),
        lists=tuple(name for name in lists if name not in answers.lists),
        nonce=draw_nonce(),
        passages=len(plan.request.contexts or ()),
        has_query=bool(plan.request.query),
    )


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
            instruction = (
                f'{before}{count}{after} {{"{parsing.NONCE}": "{nonce}", "{kind}": ["…"]}}'
            )
            messages = [
                {"role": "system", "content": prompts.generate_system},
                {"role": "user", "content": fenced(draw_boundary(), evidence) + "\n" + instruction},
            ]
            reply = await self._chat.structured(
                messages, _schema(kind, nonce), 40 + _TOKENS_PER_TEXT * count, deadline, meter
            )
            try:
                texts = _read(kind, count, reply.object(nonce))
            except RequestRefused:
                raise
            except JudgeOutputInvalid as error:
                refusal = error
                continue
            if len(texts) == count or not exactly:
                return texts
            refusal = JudgeOutputInvalid(
                "{there} of {count} {kind}", there=len(texts), count=count, kind=kind
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
