"""Asks for verdicts as JSON, and again for those that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rag_monitor.errors import JudgeOutputInvalid
from rag_monitor.judges.evidence import gather
from rag_monitor.judges.hardening import draw_boundary, draw_nonce, fenced
from rag_monitor.judges.limits import Deadline
from rag_monitor.judges.openai_compatible.capabilities import AdaptiveChat
from rag_monitor.judges.openai_compatible.form import Answers, Form
from rag_monitor.judges.openai_compatible.meter import Meter
from rag_monitor.judges.openai_compatible.refused import FINAL, TooLong
from rag_monitor.judges.prompts import PromptSet
from rag_monitor.judges.questions import Plan, Question

_MIN_CHARS: Final = 1_000


class Sight:
    """How much of the trace the model may see, and how much it saw."""

    def __init__(self, max_chars: int) -> None:
        self.max_chars = max_chars
        self.coverage = 1.0

    def narrow(self, refused: TooLong) -> None:
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
        sight: Sight,
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
            form = _open_form(plan, questions, lists, answers)
            if not form.questions and not form.lists:
                break
            try:
                await self._round(form, plan, prompts, sight, deadline, meter, answers)
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
        form: Form,
        plan: Plan,
        prompts: PromptSet,
        sight: Sight,
        deadline: Deadline,
        meter: Meter,
        answers: Answers,
    ) -> None:
        while True:
            messages = self._messages(form, plan, prompts, sight)
            try:
                reply = await self._chat.structured(
                    messages, form.schema(), form.max_tokens, deadline, meter
                )
                break
            except TooLong as refused:
                sight.narrow(refused)
        if any(self._canary in text for text in reply.texts):
            meter.notes.add("canary_leaked")
        form.read(reply.object(form.nonce), answers)

    def _messages(
        self, form: Form, plan: Plan, prompts: PromptSet, sight: Sight
    ) -> list[dict[str, str]]:
        evidence = gather(plan.request, sight.max_chars)
        sight.coverage = min(sight.coverage, evidence.coverage)
        data: dict[str, Any] = {**evidence.data, **form.evidence()}
        system = prompts.structured["system"].replace("{canary}", self._canary)
        return [
            {"role": "system", "content": system},
            {
                "role": "user",
                "content": fenced(draw_boundary(), data) + "\n" + form.text(prompts),
            },
        ]


def _open_form(
    plan: Plan, questions: Sequence[Question], lists: Sequence[str], answers: Answers
) -> Form:
    return Form(
        questions=tuple(q for q in questions if q not in answers.probabilities),
        lists=tuple(name for name in lists if name not in answers.lists),
        nonce=draw_nonce(),
        passages=len(plan.request.contexts or ()),
        has_query=bool(plan.request.query),
    )
