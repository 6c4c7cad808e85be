"""Asks for verdicts as JSON, and again for those that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rag_monitor.errors import JudgeOutputInvalid
from rag_monitor.judges.hardening import draw_boundary, draw_nonce, fenced
from rag_monitor.judges.limits import Deadline
from rag_monitor.judges.openai_compatible.capabilities import AdaptiveChat
from rag_monitor.judges.openai_compatible.meter import Meter
from rag_monitor.judges.openai_compatible.refused import FINAL, TooLong
from rag_monitor.judges.openai_compatible.structured_prompt import Answers, StructuredPrompt
from rag_monitor.judges.prompt_evidence import gather_evidence
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
            raise TooLong(f"even a cut trace does not fit into the model's context: {refused}")
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
                answers.said = str(error)
                break  # what was answered before it stands
            except JudgeOutputInvalid as error:
                refusal = error
                answers.said = str(error)
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
