"""The packed judge: all verdicts of a trace in one forward pass of a local model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rag_monitor.domain.judgement import (
    Aspect,
    JudgeIdentity,
    Judgement,
    JudgeRequest,
    KeyPoint,
    KeyPointSource,
    Statement,
    Verdict,
    texts_of,
)
from rag_monitor.domain.ports import BudgetLedger, Embedder
from rag_monitor.errors import JudgeOutputInvalid
from rag_monitor.judges.hardening import draw_boundary, fenced, gather_evidence
from rag_monitor.judges.local import LocalJudge
from rag_monitor.judges.packed.engine import PackedEngine, Tree
from rag_monitor.judges.packed.generation import Writer
from rag_monitor.judges.packed.options import PackedOptions
from rag_monitor.judges.packed.template import ChatTemplate
from rag_monitor.judges.parsing import LOW_LABEL_MASS, verdict_of
from rag_monitor.judges.prompt_injection import injection_reason
from rag_monitor.judges.prompts import PromptSet, prompts_for, prompts_hash
from rag_monitor.judges.questions import (
    ASKABLE,
    Plan,
    Question,
    cosines,
    make_plan,
    question_text,
    questions_of,
)

NAME: Final = "packed"
_LOGITS: Final = ASKABLE - {Aspect.QUESTION_SIMILARITY, Aspect.SUMMARY_QUESTION}
_MAX_WRITTEN: Final = 6
_MAX_STATEMENTS: Final = 40
_CHARS_PER_TOKEN: Final = 6


@dataclass(slots=True)
class _Case:
    """One trace under way."""

    plan: Plan
    prompts: PromptSet
    tree: Tree | None = None
    coverage: float = 1.0
    similarities: tuple[Verdict, ...] = ()


class PackedJudge(LocalJudge):
    """Judges with a model on this machine's GPU or CPU, in as few passes as traces fit into.

    Args:
        options: Model and limits.
        engine: The loaded model.
        template: Its chat template.
        writer: Writes texts, when `generate` is on.
        embedder: For answer_relevancy.
        ledger: Keeps the budget; None: no budget.
    """

    def __init__(
        self,
        options: PackedOptions,
        engine: PackedEngine,
        template: ChatTemplate,
        *,
        writer: Writer | None = None,
        embedder: Embedder | None = None,
        ledger: BudgetLedger | None = None,
    ) -> None:
        dtype = str(engine.model.dtype).removeprefix("torch.")
        parts = [options.model.rstrip("/").rpartition("/")[2], dtype]
        if embedder is not None:
            parts.append(embedder.name)
        super().__init__(
            JudgeIdentity(name=NAME, model="+".join(parts), prompts=prompts_hash()),
            on_gpu=engine.model.device.type == "cuda",
            ledger=ledger,
        )
        self._options = options
        self._engine = engine
        self._template = template
        self._writer = writer
        self._embedder = embedder

    @property
    def aspects(self) -> frozenset[Aspect]:
        """All that logits answer; with `generate` also what needs written questions."""
        if self._writer is None:
            return _LOGITS
        written = {Aspect.SUMMARY_QUESTION}
        return _LOGITS | (written | {Aspect.QUESTION_SIMILARITY} if self._embedder else written)

    def _judge_batch(
        self, requests: Sequence[JudgeRequest]
    ) -> tuple[Sequence[Judgement], Sequence[int]]:
        cases = [self._open(request) for request in requests]
        self._write_items(cases)
        for case in cases:
            self._plant(case)
        trees = [case.tree for case in cases if case.tree is not None]
        masses = iter(self._engine.masses(trees))
        judgements = [
            self._conclude(case, next(masses) if case.tree is not None else []) for case in cases
        ]
        return judgements, [case.tree.tokens if case.tree is not None else 0 for case in cases]

    def _open(self, request: JudgeRequest) -> _Case:
        able = _LOGITS if self._writer is None else ASKABLE
        plan = make_plan(request, able)
        if self._writer is None:
            for aspect in (Aspect.QUESTION_SIMILARITY, Aspect.SUMMARY_QUESTION):
                if aspect in request.aspects:
                    plan.missing[aspect] = "no_generator"
            if plan.infer_key_points:
                plan.infer_key_points = False
                plan.missing[Aspect.COVERAGE] = "no_key_points"
        elif plan.regenerate and self._embedder is None:
            plan.regenerate = False
            plan.missing[Aspect.QUESTION_SIMILARITY] = "no_embedder"
        return _Case(plan, prompts_for(request))

    def _plant(self, case: _Case) -> None:
        """Make the tree, with passages cut until it fits."""
        plan, prompts = case.plan, case.prompts
        if not plan.questions:
            return
        system = prompts.verdict["system"]
        has_query = bool(plan.request.query)
        branches = tuple(
            self._template.branch(system, question_text(q, prompts, has_query=has_query))
            for q in plan.questions
        )
        room = self._options.max_tokens - sum(map(len, branches))
        chars = self._options.max_tokens * _CHARS_PER_TOKEN
        while True:
            evidence = gather_evidence(plan.request, chars)
            text = fenced(draw_boundary(), evidence.data)
            prefix = self._template.prefix(system, text)
            if len(prefix) <= room:
                break
            if chars <= _CHARS_PER_TOKEN:
                raise JudgeOutputInvalid(
                    "the questions alone exceed judges.packed.max_tokens; raise it"
                )
            chars = min(chars - 1, chars * max(room, 1) * 9 // (len(prefix) * 10))
            chars = max(chars, _CHARS_PER_TOKEN)
        case.tree = Tree(prefix, branches)
        case.coverage = evidence.coverage

    def _write_items(self, cases: Sequence[_Case]) -> None:
        if self._writer is None:
            return
        if self._options.model_statements:
            self._write_statements(cases)
        self._each(
            [case for case in cases if case.plan.infer_key_points],
            "key_points",
            _MAX_WRITTEN,
            lambda shown: {"question": shown["question"]},
            _take_key_points,
        )
        self._each(
            [case for case in cases if case.plan.summary_questions],
            "summary_questions",
            _MAX_WRITTEN,
            lambda shown: {"passages": shown.get("passages", {})},
            _take_summary_questions,
        )
        self._each(
            [case for case in cases if case.plan.regenerate],
            "questions",
            self._options.questions,
            lambda shown: {"answer": shown["answer"]},
            self._take_questions,
        )

    def _write_statements(self, cases: Sequence[_Case]) -> None:
        wanted = [
            case
            for case in cases
            if case.plan.request.statements is None
            and any(q.aspect is Aspect.SUPPORT for q in case.plan.questions)
        ]
        self._each(wanted, "statements", _MAX_STATEMENTS, dict, _take_statements)

    def _each(
        self,
        cases: Sequence[_Case],
        kind: str,
        count: int,
        show: Callable[[dict[str, Any]], Mapping[str, Any]],
        take: Callable[[_Case, list[str] | None], None],
    ) -> None:
        if not cases or self._writer is None:
            return
        chars = self._options.max_tokens * 2
        tasks = [
            (show(gather_evidence(case.plan.request, chars).data), case.prompts) for case in cases
        ]
        for case, texts in zip(cases, self._writer.write(kind, count, tasks), strict=True):
            take(case, texts)

    def _take_questions(self, case: _Case, texts: list[str] | None) -> None:
        aspect = Aspect.QUESTION_SIMILARITY
        if texts is None or len(texts) != self._options.questions or self._embedder is None:
            case.plan.missing[aspect] = "verdict_missing"
            return
        try:
            values = cosines(self._embedder.embed([case.plan.request.question, *texts]))
        except JudgeOutputInvalid:
            case.plan.missing[aspect] = "verdict_missing"
            return
        case.similarities = tuple(
            Verdict(aspect=aspect, probability=value, raw=value, index=i, text=text)
            for i, (text, value) in enumerate(zip(texts, values, strict=True))
        )

    def _conclude(self, case: _Case, masses: Sequence[tuple[float, float]]) -> Judgement:
        plan = case.plan
        verdicts = [*plan.decided, *case.similarities]
        missing = dict(plan.missing)
        for question, mass in zip(plan.questions if masses else (), masses, strict=True):
            label = verdict_of(*mass)
            if label.probability is None:
                missing[question.aspect] = LOW_LABEL_MASS
            else:
                verdicts.append(question.verdict(label.probability))
        declines = any(v.aspect is Aspect.NONCOMMITTAL and v.holds for v in verdicts)
        return Judgement(
            identity=self._identity,
            verdicts=tuple(verdicts),
            missing=missing,
            refusal=plan.refusal or declines,
            suspect=injection_reason(texts_of(plan.request)),
            coverage=case.coverage,
        )


def _take_statements(case: _Case, texts: list[str] | None) -> None:
    plan = case.plan
    rest = [q for q in plan.questions if q.aspect is not Aspect.SUPPORT]
    if texts is None:
        plan.missing[Aspect.SUPPORT] = "verdict_missing"
        plan.questions = rest
        return
    answer = plan.request.answer
    plan.statements = tuple(_placed(text, answer) for text in texts)
    plan.questions = [*questions_of(plan, Aspect.SUPPORT), *rest]


def _placed(text: str, answer: str) -> Statement:
    start = answer.find(text)
    if start < 0:
        return Statement(text=text, start=0, end=len(answer))
    return Statement(text=text, start=start, end=start + len(text))


def _take_key_points(case: _Case, texts: list[str] | None) -> None:
    if texts is None:
        case.plan.missing[Aspect.COVERAGE] = "verdict_missing"
        return
    case.plan.key_points = tuple(
        KeyPoint(text=text, source=KeyPointSource.INFERRED) for text in texts
    )
    case.plan.questions += questions_of(case.plan, Aspect.COVERAGE)


def _take_summary_questions(case: _Case, texts: list[str] | None) -> None:
    if texts is None:
        case.plan.missing[Aspect.SUMMARY_QUESTION] = "verdict_missing"
        return
    case.plan.questions += [
        Question(aspect=Aspect.SUMMARY_QUESTION, index=i, text=text) for i, text in enumerate(texts)
    ]
