"""One-token verdicts: every question is a call of one token over a prefix all calls share."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from functools import partial

from rag_monitor.errors import (
    JudgeOutputInvalid,
    JudgeRefused,
    OtherModelServed,
    QuotaExhausted,
)
from rag_monitor.judges.hardening import draw_boundary, fenced, gather_evidence
from rag_monitor.judges.limits import Deadline, Limits
from rag_monitor.judges.openai_compatible.capabilities import AdaptiveChat
from rag_monitor.judges.openai_compatible.chat_reply import ChatReply
from rag_monitor.judges.openai_compatible.meter import Meter
from rag_monitor.judges.openai_compatible.options import OpenAICompatibleOptions
from rag_monitor.judges.openai_compatible.refused import ReplyWithheld, TooLong
from rag_monitor.judges.openai_compatible.scoring_methods import (
    Scoring,
    ScoringMethod,
    ScoringProbe,
)
from rag_monitor.judges.openai_compatible.structured import InputBudget
from rag_monitor.judges.openai_compatible.structured_prompt import Answers
from rag_monitor.judges.openai_compatible.transport import ChatMessage
from rag_monitor.judges.parsing import LOW_LABEL_MASS, MIN_LABEL_MASS, LabelVerdict, verdict_of
from rag_monitor.judges.prompts import PromptSet
from rag_monitor.judges.questions import Plan, Question, question_text


def read_labels(
    top: Sequence[tuple[str, float]], yes: Sequence[str], no: Sequence[str]
) -> LabelVerdict:
    """Read P = mass(yes) / (mass(yes) + mass(no)); never renormalised over a small label mass."""
    yes_labels = {label.strip().casefold() for label in yes}
    no_labels = {label.strip().casefold() for label in no}
    masses = [0.0, 0.0]
    for token, logprob in top:
        label = token.strip().casefold()
        if label in yes_labels:
            masses[0] += math.exp(logprob)
        elif label in no_labels:
            masses[1] += math.exp(logprob)
    total = sum(masses)
    bounded = 0.0 in masses
    if bounded and total >= MIN_LABEL_MASS:
        smallest = math.exp(min(logprob for _, logprob in top)) if len(top) > 1 else 1.0 - total
        masses[masses.index(0.0)] = min(max(smallest, 0.0), max(masses))
        return LabelVerdict(masses[0] / sum(masses), min(total, 1.0), bounded=True)
    return verdict_of(*masses)


class TokenAsker:
    """Puts each question as one call of one token."""

    def __init__(
        self,
        options: OpenAICompatibleOptions,
        chat: AdaptiveChat,
        methods: ScoringProbe,
        limits: Limits,
    ) -> None:
        self._options = options
        self._chat = chat
        self._scoring = methods
        self._limits = limits

    async def ask(
        self,
        plan: Plan,
        questions: Sequence[Question],
        prompts: PromptSet,
        budget: InputBudget,
        deadline: Deadline,
        meter: Meter,
    ) -> Answers:
        """Answers to all questions, or an error.

        Raises:
            JudgeError: One of the calls failed; half a trace is no judgement.
        """
        while True:
            method = await self._scoring.method(prompts, meter)
            try:
                return await self._ask(plan, questions, prompts, budget, deadline, meter, method)
            except TooLong as refused:
                budget.halve(refused)
            except (ReplyWithheld, QuotaExhausted, OtherModelServed):
                raise  # the way is none the worse
            except (JudgeRefused, JudgeOutputInvalid):
                if method.scoring is Scoring.TOP_LOGPROBS:
                    raise
                self._scoring.disable(prompts)

    async def _ask(
        self,
        plan: Plan,
        questions: Sequence[Question],
        prompts: PromptSet,
        budget: InputBudget,
        deadline: Deadline,
        meter: Meter,
        method: ScoringMethod,
    ) -> Answers:
        evidence = gather_evidence(plan.request, budget.max_chars)
        budget.coverage = min(budget.coverage, evidence.coverage)
        has_query = bool(plan.request.query)
        prefix = fenced(draw_boundary(), evidence.data) + "\n" + prompts.verdict["closing"] + " "

        system = {"role": "system", "content": prompts.verdict["system"]}
        texts = [question_text(question, prompts, has_query=has_query) for question in questions]
        conversations = [[system, {"role": "user", "content": prefix + text}] for text in texts]
        answers = Answers()
        if method.scoring in (Scoring.SGLANG_SCORE, Scoring.VLLM_SCORING):
            for question, masses in zip(
                questions, await self._scored(conversations, method, deadline, meter), strict=True
            ):
                _record(question, verdict_of(*masses), answers)
            return answers

        async def put(messages: Sequence[ChatMessage]) -> ChatReply:
            if method.scoring is Scoring.LABEL_IDS:
                return await self._chat.label_token(messages, method, deadline, meter)
            return await self._chat.one_token(messages, deadline, meter)

        first = 1 if self._options.warm_prefix else 0
        replies = [await put(messages) for messages in conversations[:first]]
        replies += await _all([put(messages) for messages in conversations[first:]])
        for question, reply in zip(questions, replies, strict=True):
            if method.scoring is Scoring.LABEL_IDS:
                listed = self._scoring.label_probabilities(reply.top_logprobs or ())
                _record(question, verdict_of(*method.masses(listed)), answers)
            else:
                _read(question, reply, prompts, answers)
        return answers

    async def _scored(
        self,
        conversations: Sequence[Sequence[ChatMessage]],
        method: ScoringMethod,
        deadline: Deadline,
        meter: Meter,
    ) -> list[tuple[float, float]]:
        """All verdicts by one scoring request (vLLM: one per label)."""
        ids = [
            await self._limits.call(partial(self._scoring.token_ids, messages), deadline)
            for messages in conversations
        ]
        return await self._limits.call(partial(self._scoring.scores, method, ids, meter), deadline)


async def _all(calls: Sequence[object]) -> list[ChatReply]:
    """Run calls together; the first failure cancels the rest."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]  # type: ignore[arg-type,var-annotated]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


def _read(question: Question, reply: ChatReply, prompts: PromptSet, answers: Answers) -> None:
    if reply.top_logprobs:
        verdict = read_labels(reply.top_logprobs, prompts.yes, prompts.no)
        if verdict.bounded:
            answers.notes[question] = "bounded"
    else:
        verdict = _read_text(reply.content, prompts)
        answers.notes[question] = "text_verdict"
    _record(question, verdict, answers)


def _record(question: Question, verdict: LabelVerdict, answers: Answers) -> None:
    if verdict.probability is None:
        answers.refused[question.aspect] = LOW_LABEL_MASS
    else:
        answers.probabilities[question] = verdict.probability


def _read_text(text: str, prompts: PromptSet) -> LabelVerdict:
    return read_labels([(text.strip().rstrip(".。"), 0.0)], prompts.yes, prompts.no)
