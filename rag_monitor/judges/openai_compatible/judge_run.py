"""From a plan to a judgement: which calls are made, and what their answers mean."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rag_monitor.domain.judgement import (
    Aspect,
    JudgeIdentity,
    Judgement,
    KeyPoint,
    KeyPointSource,
    Statement,
    Verdict,
    texts_of,
)
from rag_monitor.domain.ports import Embedder
from rag_monitor.errors import JudgeError, JudgeOutputInvalid, JudgeTimeout, JudgeUnavailable
from rag_monitor.judges.hardening import clean, gather_evidence
from rag_monitor.judges.limits import Deadline, Limits, PoisonRequest
from rag_monitor.judges.openai_compatible.capabilities import AdaptiveChat
from rag_monitor.judges.openai_compatible.meter import Meter
from rag_monitor.judges.openai_compatible.options import OpenAICompatibleOptions, VerdictMode
from rag_monitor.judges.openai_compatible.refused import FINAL
from rag_monitor.judges.openai_compatible.scoring_methods import ScoringProbe
from rag_monitor.judges.openai_compatible.structured import InputBudget, ListWriter, StructuredAsker
from rag_monitor.judges.openai_compatible.structured_prompt import MAX_INFERRED, Answers
from rag_monitor.judges.openai_compatible.tokens import TokenAsker
from rag_monitor.judges.openai_compatible.transport import ChatTransport
from rag_monitor.judges.prompt_injection import injection_reason
from rag_monitor.judges.prompts import PromptSet, prompts_for
from rag_monitor.judges.questions import PER_PASSAGE, Plan, Question, cosines, questions_of
from rag_monitor.redaction.redactor import presentable

VERDICT_MISSING = "verdict_missing"
_MAX_STATEMENTS = 40
_LISTED = {
    "inferred_key_points": Aspect.COVERAGE,
    "summary_questions": Aspect.SUMMARY_QUESTION,
}


@dataclass(slots=True)
class JudgeRun:
    """One judgement under way."""

    plan: Plan
    prompts: PromptSet
    deadline: Deadline
    meter: Meter
    budget: InputBudget


class JudgeRunner:
    """Makes the calls a plan needs."""

    def __init__(
        self,
        options: OpenAICompatibleOptions,
        chat: AdaptiveChat,
        transport: ChatTransport,
        limits: Limits,
        embedder: Embedder | None,
        canary: str,
    ) -> None:
        self._options = options
        self._transport = transport
        self._limits = limits
        self._embedder = embedder
        self._structured = StructuredAsker(chat, canary)
        self._tokens = TokenAsker(options, chat, ScoringProbe(options, transport), limits)
        self._lists = ListWriter(chat, options.reasks)

    async def run(self, plan: Plan, identity: JudgeIdentity, meter: Meter) -> Judgement:
        """Ask everything the plan needs, verdicts and regenerated questions side by side.

        Raises:
            JudgeError: No judgement came about.
        """
        run = JudgeRun(
            plan=plan,
            prompts=prompts_for(plan.request),
            deadline=self._limits.deadline(),
            meter=meter,
            budget=InputBudget(self._options.max_input_chars),
        )
        try:
            async with asyncio.TaskGroup() as group:
                answers = group.create_task(self._verdicts(run))
                similar = group.create_task(self._similarities(run))
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return _conclude(run, identity, answers.result(), similar.result())

    async def _verdicts(self, run: JudgeRun) -> Answers:
        plan = run.plan
        if self._options.verdicts is VerdictMode.STRUCTURED:
            return await self._fill_or_halves(run, plan.questions, _wanted_lists(plan))
        await self._write_items(run)
        if self._options.verdicts is VerdictMode.LOGPROBS:
            if not plan.questions:
                return Answers()
            return await self._tokens.ask(
                plan,
                plan.questions,
                run.prompts,
                run.budget,
                run.deadline,
                run.meter,
            )
        answers = Answers()
        for group in _single_steps(plan.questions):
            step_answers = await self._fill(run, group, ())
            answers.add(step_answers)
        return answers

    async def _fill_or_halves(
        self, run: JudgeRun, questions: Sequence[Question], lists: Sequence[str]
    ) -> Answers:
        """One form; two smaller ones when no reply to it is usable, or the server breaks over it.

        A half that fails leaves its verdicts open.
        """
        halves = _halves(questions)
        if not all(halves):
            return await self._fill(run, questions, lists)
        whole = replace(run, deadline=replace(run.deadline, may_split=True))
        try:
            return await self._fill(whole, questions, lists)
        except FINAL:
            raise
        except (JudgeOutputInvalid, PoisonRequest) as error:
            reasks = None if isinstance(error, PoisonRequest) else 0
            results = await asyncio.gather(
                self._fill(run, halves[0], (), reasks),
                self._fill(run, halves[1], lists, reasks),
                return_exceptions=True,
            )
            return _together(results, error)

    async def _fill(
        self,
        run: JudgeRun,
        questions: Sequence[Question],
        lists: Sequence[str],
        reasks: int | None = None,
    ) -> Answers:
        return await self._structured.ask(
            run.plan,
            questions,
            lists,
            run.prompts,
            run.budget,
            run.deadline,
            run.meter,
            self._options.reasks if reasks is None else reasks,
        )

    async def _write_items(self, run: JudgeRun) -> None:
        """Let the model write what is to be asked about, where the one call cannot do it."""
        plan = run.plan
        shown = gather_evidence(plan.request, run.budget.max_chars).data
        exact = self._options.verdicts is VerdictMode.EXACT
        supports = [q for q in plan.questions if q.aspect is Aspect.SUPPORT]
        if exact and supports and plan.request.statements is None:
            texts = await self._write(run, "statements", _MAX_STATEMENTS, shown)
            plan.statements = tuple(_placed(text, plan.request.answer) for text in texts)
            rest = [q for q in plan.questions if q.aspect is not Aspect.SUPPORT]
            plan.questions = [*questions_of(plan, Aspect.SUPPORT), *rest]
        if plan.infer_key_points:
            only_question = {"question": shown["question"]}
            texts = await self._write(run, "key_points", MAX_INFERRED, only_question)
            plan.key_points = tuple(
                KeyPoint(text=text, source=KeyPointSource.INFERRED) for text in texts
            )
            plan.questions += questions_of(plan, Aspect.COVERAGE)
        if plan.summary_questions:
            passages = {"passages": shown.get("passages", {})}
            texts = await self._write(run, "summary_questions", MAX_INFERRED, passages)
            plan.questions += [
                Question(aspect=Aspect.SUMMARY_QUESTION, index=i, text=text)
                for i, text in enumerate(texts)
            ]

    async def _write(
        self,
        run: JudgeRun,
        kind: str,
        count: int,
        evidence: dict[str, Any],
        *,
        exactly: bool = False,
    ) -> list[str]:
        return await self._lists.write(
            kind,
            count,
            evidence,
            run.prompts,
            run.deadline,
            run.meter,
            exactly=exactly,
        )

    async def _similarities(self, run: JudgeRun) -> tuple[Verdict, ...] | JudgeError:
        """One verdict per regenerated question, or why there is none.

        A failure here costs this aspect only, unless nothing else was asked.
        """
        plan = run.plan
        if not plan.regenerate:
            return ()
        answer = {"answer": clean(plan.request.answer)[: run.budget.max_chars]}
        try:
            questions = await self._write(
                run, "questions", self._options.questions, answer, exactly=True
            )
            values = cosines(await self._embed([plan.request.question, *questions], run))
        except JudgeOutputInvalid as error:
            return error
        except (JudgeUnavailable, JudgeTimeout) as error:
            if not plan.questions and not _wanted_lists(plan):
                raise
            return error
        return tuple(
            Verdict(
                aspect=Aspect.QUESTION_SIMILARITY, probability=value, raw=value, index=i, text=text
            )
            for i, (text, value) in enumerate(zip(questions, values, strict=True))
        )

    async def _embed(self, texts: Sequence[str], run: JudgeRun) -> Sequence[Sequence[float]]:
        if self._embedder is not None:
            return await asyncio.to_thread(self._embedder.embed, texts)
        return await self._limits.call(
            lambda: self._transport.embed(texts, run.meter), run.deadline
        )


def _together(
    results: Sequence[Answers | BaseException], error: JudgeOutputInvalid | PoisonRequest
) -> Answers:
    """What the halves brought; `error`, from the whole, when neither brought anything.

    A judge that cannot be reached at all is worth another try of the trace, later and as a whole.
    """
    answers = Answers()
    spoilt: tuple[type[Exception], ...] = (JudgeOutputInvalid,)
    if isinstance(error, PoisonRequest):
        spoilt = (JudgeOutputInvalid, JudgeUnavailable, JudgeTimeout)
    for result in results:
        if isinstance(result, Answers):
            answers.add(result)
        elif isinstance(result, spoilt):
            answers.last_error = str(result)
        else:
            raise result
    if not answers.probabilities:
        raise error
    return answers


def _wanted_lists(plan: Plan) -> list[str]:
    wanted = ["inferred_key_points"] if plan.infer_key_points else []
    return [*wanted, "summary_questions"] if plan.summary_questions else wanted


def _halves(questions: Sequence[Question]) -> tuple[list[Question], list[Question]]:
    """The questions in two parts; those of one aspect stay together."""
    aspects = list(dict.fromkeys(question.aspect for question in questions))
    first = set(aspects[: (len(aspects) + 1) // 2])
    return (
        [question for question in questions if question.aspect in first],
        [question for question in questions if question.aspect not in first],
    )


def _single_steps(questions: Sequence[Question]) -> list[list[Question]]:
    """Questions as separate steps: one per passage, one per other aspect."""
    steps: dict[tuple[Aspect, int], list[Question]] = {}
    for question in questions:
        place = question.index if question.aspect in PER_PASSAGE else -1
        steps.setdefault((question.aspect, place), []).append(question)
    return list(steps.values())


def _placed(text: str, answer: str) -> Statement:
    start = answer.find(text)
    return (
        Statement(text=text, start=0, end=len(answer))
        if start < 0
        else Statement(text=text, start=start, end=start + len(text))
    )


def _conclude(
    run: JudgeRun,
    identity: JudgeIdentity,
    answers: Answers,
    similar: tuple[Verdict, ...] | JudgeError,
) -> Judgement:
    plan = run.plan
    missing = dict(plan.missing) | answers.refused
    verdicts = list(plan.decided)
    for question in plan.questions:
        value = answers.probabilities.get(question)
        if value is None:
            missing.setdefault(question.aspect, VERDICT_MISSING)
            continue
        place = answers.evidence.get(question.index) if question.aspect is Aspect.SUPPORT else None
        verdicts.append(question.verdict(value, evidence=place, reason=answers.notes.get(question)))
    _add_lists(plan, answers, verdicts, missing)
    left_out = [aspect for aspect, why in missing.items() if why == VERDICT_MISSING]
    details = dict.fromkeys(left_out, answers.last_error) if answers.last_error else {}
    if isinstance(similar, JudgeError):
        wrong = isinstance(similar, JudgeOutputInvalid)
        missing[Aspect.QUESTION_SIMILARITY] = VERDICT_MISSING if wrong else similar.reason
        details[Aspect.QUESTION_SIMILARITY] = str(similar)
    else:
        verdicts += similar
    declines = any(v.aspect is Aspect.NONCOMMITTAL and v.holds for v in verdicts)
    return Judgement(
        identity=identity,
        verdicts=tuple(verdicts),
        missing=missing,
        details={aspect: presentable(detail) for aspect, detail in details.items()},
        refusal=plan.refusal or declines,
        suspect=_suspect(run),
        coverage=run.budget.coverage,
    )


def _add_lists(
    plan: Plan, answers: Answers, verdicts: list[Verdict], missing: dict[Aspect, str]
) -> None:
    asked_by_name = {q.aspect for q in plan.questions}
    for name in _wanted_lists(plan):
        aspect = _LISTED[name]
        if aspect in asked_by_name:
            continue
        rows = answers.lists.get(name)
        if rows is None:
            missing[aspect] = VERDICT_MISSING
            continue
        for index, (text, value) in enumerate(rows):
            question = Question(aspect=aspect, index=index, text=text)
            verdicts.append(question.verdict(value, reason="inferred"))


def _suspect(run: JudgeRun) -> str | None:
    if run.meter.notes:
        return sorted(run.meter.notes)[0]
    return injection_reason(texts_of(run.plan.request))
