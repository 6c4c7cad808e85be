"""The judge that asks a published hallucination detector."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath
from typing import Final

from rag_monitor.domain.judgement import (
    Aspect,
    JudgeIdentity,
    Judgement,
    JudgeRequest,
    Verdict,
)
from rag_monitor.domain.ports import BudgetLedger
from rag_monitor.judges.detectors.asking import Asker, Conclusion, PairAsker, PreparedInput, Support
from rag_monitor.judges.detectors.formats import Format, Reads
from rag_monitor.judges.detectors.options import DetectorOptions
from rag_monitor.judges.detectors.runner import Numbers, Runner
from rag_monitor.judges.detectors.spans import SpanAsker
from rag_monitor.judges.detectors.texts import Texts
from rag_monitor.judges.local import LocalJudge
from rag_monitor.judges.parsing import LOW_LABEL_MASS
from rag_monitor.judges.prompt_injection import injection_reason
from rag_monitor.judges.questions import Plan, Question, make_plan

NAME: Final = "detector"
ASPECTS: Final = frozenset({Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED})
READING_VERSION: Final = "1"
"""Grows when the same model and settings are given other texts, or read otherwise, than before."""


@dataclass(slots=True)
class _Case:
    """One trace under way."""

    plan: Plan
    prepared: PreparedInput | None
    """None: nothing has to be asked."""

    @property
    def tokens(self) -> int:
        """Tokens the model reads for it."""
        return sum(len(e.ids) for e in self.prepared.encodings) if self.prepared is not None else 0


class DetectorJudge(LocalJudge):
    """Asks a detector about every statement, inputs of like lengths together.

    Args:
        options: Model and limits.
        form: How the model is asked.
        texts: Its tokenizer.
        runner: The loaded model.
        ledger: Keeps the budget; None: no budget.
    """

    def __init__(
        self,
        options: DetectorOptions,
        form: Format,
        texts: Texts,
        runner: Runner,
        *,
        ledger: BudgetLedger | None = None,
    ) -> None:
        identity = _identity(options, form, runner)
        super().__init__(identity, on_gpu=runner.on_gpu, ledger=ledger)
        self._form = form
        self._runner = runner
        made = SpanAsker if form.reads is Reads.TOKENS else PairAsker
        self._asker: Asker = made(form, texts, options.max_windows)

    @property
    def aspects(self) -> frozenset[Aspect]:
        """What a detector answers; put another judge beside it for everything else."""
        return ASPECTS

    async def inspect(self) -> Mapping[str, object]:
        """How the model is asked and where it runs."""
        return {
            "format": self._form.name,
            "runs_on": self._runner.place,
            "max_tokens": self._form.max_tokens,
            "window_tokens": self._form.window_tokens,
        }

    def _judge_batch(
        self, requests: Sequence[JudgeRequest]
    ) -> tuple[Sequence[Judgement], Sequence[int]]:
        cases = [self._open(request) for request in requests]
        encodings = [
            e for case in cases if case.prepared is not None for e in case.prepared.encodings
        ]
        numbers = iter(self._runner.run(encodings))
        judgements = [self._conclude(case, _take(case, numbers)) for case in cases]
        return judgements, [case.tokens for case in cases]

    def _open(self, request: JudgeRequest) -> _Case:
        plan = make_plan(request, ASPECTS)
        if not plan.questions:
            return _Case(plan, None)
        return _Case(plan, self._asker.ask(request, plan.statements))

    def _conclude(self, case: _Case, numbers: Sequence[Numbers]) -> Judgement:
        plan, request = case.plan, case.plan.request
        verdicts = list(plan.decided)
        missing = dict(plan.missing)
        if case.prepared is not None:
            conclusion = case.prepared.conclude(numbers)
            for question in plan.questions:
                verdict = _verdict(question, conclusion)
                if verdict is None:
                    missing[question.aspect] = LOW_LABEL_MASS
                else:
                    verdicts.append(verdict)
        return Judgement(
            identity=self._identity,
            verdicts=tuple(verdicts),
            missing=missing,
            refusal=plan.refusal,
            suspect=injection_reason([request.question, request.answer, *(request.contexts or ())]),
            coverage=1.0 if case.prepared is None else case.prepared.coverage,
        )


def _take(case: _Case, numbers: Iterator[Numbers]) -> list[Numbers]:
    return [] if case.prepared is None else list(islice(numbers, len(case.prepared.encodings)))


def _verdict(question: Question, finding: Conclusion) -> Verdict | None:
    if question.aspect is Aspect.SUPPORT:
        support: Support | None = finding.statements[question.index]
    else:
        support = finding.whole or _weakest(finding.statements)
    if support is None or support.probability is None:
        return None
    return question.verdict(
        min(1.0, max(0.0, support.probability)), evidence=support.evidence, reason=support.reason
    )


def _weakest(statements: Sequence[Support]) -> Support | None:
    """The answer by its least supported statement; None where one of them has no probability."""
    values = [s.probability for s in statements]
    given = [value for value in values if value is not None]
    if not values or len(given) < len(values):
        return None
    return Support(probability=min(given))


def _identity(options: DetectorOptions, form: Format, runner: Runner) -> JudgeIdentity:
    path = PurePath(options.model)
    if path.suffix == ".onnx":  # the file's own name is part of the runner's kind
        path = path.parent.parent if path.parent.name == "onnx" else path.parent
    model = path.name
    if options.revision is not None:
        model += f"@{options.revision[:12]}"
    decides = (
        READING_VERSION,
        form.name,
        form.max_tokens,
        form.window_tokens,
        options.max_windows,
        form.whole,
        form.supported,
    )
    digest = hashlib.sha256(repr(decides).encode()).hexdigest()[:12]
    return JudgeIdentity(name=NAME, model=f"{model}-{runner.kind}", prompts=f"{form.name}-{digest}")
