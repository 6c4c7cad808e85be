"""A small, lively story: two apps, one of them in trouble."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta

from rag_monitor.domain.alert import Alert, AlertState, Finding, Severity
from rag_monitor.domain.decision import SamplingDecision, SamplingReason
from rag_monitor.domain.fault import EvidenceKind, Fault, FaultEvidence
from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.incident import (
    Concentration,
    Example,
    FaultGrowth,
    Incident,
    IncidentAlert,
    NextStep,
    Story,
)
from rag_monitor.domain.judgement import Aspect, JudgeIdentity, JudgeUsage, Verdict
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.domain.stored import StoredTrace, TraceSummary
from rag_monitor.domain.trace import Retrieval, RetrievedDocument, Timings, Trace
from rag_monitor.i18n import Message
from rag_monitor.testing import make_trace

JUDGE = JudgeIdentity(name="embedded", model="full", prompts="3f9a", calibration="v1")


def make_stored(
    trace: Trace, faithfulness: float = 0.5, feedback: tuple[Feedback, ...] = ()
) -> StoredTrace:
    """A stored trace with verdicts on each half of its answer and on each passage."""
    answer = trace.answer or ""
    middle = next((m.end() for m in re.finditer(r"[。!]|\.(?= )", answer)), len(answer))
    spans = [(0, middle), (middle, len(answer))] if middle < len(answer) else [(0, middle)]
    support = tuple(
        Verdict(
            aspect=Aspect.SUPPORT,
            probability=0.93 if n == 0 or faithfulness > 0.8 else 0.07,
            index=n,
            text=answer[a:b],
            start=a,
            end=b,
            evidence=0,
            reason=None if n == 0 or faithfulness > 0.8 else "number_mismatch",
        )
        for n, (a, b) in enumerate(spans)
    )
    passages = range(len(trace.contexts or ()))

    def per_passage(aspect: Aspect) -> tuple[Verdict, ...]:
        return tuple(
            Verdict(aspect=aspect, probability=0.9 - 0.5 * (n > 0), index=n) for n in passages
        )

    def score(metric: str, value: float, verdicts: tuple[Verdict, ...] = ()) -> Score:
        return Score(
            metric=metric,
            status=ScoreStatus.SCORED,
            value=value,
            judge=JUDGE,
            verdicts=verdicts,
            created_at=trace.started_at + timedelta(seconds=1),
        )

    return StoredTrace(
        trace=trace,
        received_at=trace.started_at + timedelta(seconds=1),
        scores=(
            score("faithfulness", faithfulness, support),
            score("context_relevance", 1 / max(1, len(passages)), per_passage(Aspect.RELEVANCE)),
            score("context_utilization", 0.33, per_passage(Aspect.USE)),
            Score(
                metric="summary_score",
                status=ScoreStatus.NOT_APPLICABLE,
                reason="unsupported_aspect",
                judge=JUDGE,
            ),
            Score(
                metric="answer_relevance",
                status=ScoreStatus.FAILED,
                reason="judge_timeout",
                detail=Message("the judge did not answer within {limit:.1f} s", limit=30.0),
                judge=JUDGE,
            ),
        ),
        feedback=feedback,
        decisions=(
            SamplingDecision(
                judge="embedded",
                included=True,
                probability=1.0,
                reason=SamplingReason.ALWAYS,
                usage=JudgeUsage(calls=2, input_tokens=1240, output_tokens=86, cost=0.00213),
            ),
        ),
    )


ZH_QUESTION = "2024年个人首套房商业贷款利率的最低标准是多少?"
ZH_ANSWER = (
    "2024年个人首套房商业贷款利率最低标准为3.4%(基准利率4.25%下浮20%)。"
    "二套房利率不得低于基准利率的1.2倍。"
)
ZH_CONTEXTS = (
    "2024年央行发布的个人住房贷款基准利率为4.25%,首套房可下浮20%。",
    "个人二套房贷款利率不得低于基准利率的1.1倍。",
    "2023年首套房贷款利率最低为3.65%。",
)


def story(now: datetime) -> list[StoredTrace]:
    """Sixty traces of two apps, newest at `now`."""
    stored = []
    for number in range(60):
        chinese = number % 2 == 0
        started = now - timedelta(minutes=7 * number + 1)
        contexts = (
            ZH_CONTEXTS
            if chinese
            else (
                "The standard warranty lasts 24 months from the date of purchase.",
                "Batteries are covered for 12 months.",
            )
        )
        documents = tuple(
            RetrievedDocument(id=f"doc-{r}", content=text, score=1.0 / r, rank=r)
            for r, text in enumerate(contexts, start=1)
        )
        trace = make_trace(
            question=ZH_QUESTION if chinese else f"How long is the warranty of model {number}?",
            answer=ZH_ANSWER
            if chinese
            else "The warranty lasts 24 months. Batteries are covered for five years.",
            contexts=contexts,
            id=f"story-{number}",
            app="loan-assistant" if chinese else "support-bot",
            started_at=started,
            release="2.1.0" if number < 20 else "2.0.3",
            user_id=f"u-{number % 7}",
            session_id=f"s-{number % 9}",
            model="qwen3-8b",
            streamed=True,
            retrievals=(
                Retrieval(
                    query="首套房 贷款 利率 2024" if chinese else None,
                    documents=documents,
                    knowledge_base="贷款知识库" if chinese else "manuals",
                    latency_ms=84.0,
                ),
            ),
            timings=Timings(
                first_byte_ms=310.0,
                generation_ms=980.0 + 20 * number,
                end_to_end_ms=1240.0 + 20 * number,
                retrieval_ms=84.0,
                first_token_ms=190.0,
            ),
            hits=(
                Hit(
                    kind=HitKind.KNOWLEDGE_BASE,
                    name="贷款知识库" if chinese else "manuals",
                    items=3,
                    latency_ms=84.0,
                ),
                Hit(kind=HitKind.PLUGIN, name="calculator", ok=number % 5 != 0, latency_ms=12.5),
            ),
        )
        stored.append(make_stored(trace, 0.5 if number % 3 == 0 else 0.95))
    return stored


def story_alerts(now: datetime, worst: tuple[str, ...]) -> list[Alert]:
    """One alert that fires and one that is over."""
    return [
        Alert(
            id="al-1",
            project="default",
            rule="faithfulness drop",
            app="loan-assistant",
            state=AlertState.FIRING,
            severity=Severity.PAGE,
            since=now - timedelta(minutes=42),
            started_at=now - timedelta(minutes=44),
            fired_at=now - timedelta(minutes=42),
            finding=Finding(
                active=True,
                value=0.634,
                lower=0.601,
                upper=0.668,
                level=0.95,
                baseline=0.912,
                judged=214,
                baseline_judged=2090,
                onset_at=now - timedelta(minutes=42),
                summary="Faithfulness fell from 0.91 to 0.63 (95 % interval 0.60 to 0.67).",
                summary_zh="忠实度从 0.91 降至 0.63(95% 区间 0.60 至 0.67)。",
                worst_traces=worst,
                notes=("embedded_uncorrected",),
            ),
        ),
        Alert(
            id="al-2",
            project="default",
            rule="end-to-end latency",
            app="support-bot",
            state=AlertState.RESOLVED,
            severity=Severity.TICKET,
            since=now - timedelta(hours=5),
            started_at=now - timedelta(hours=7),
            fired_at=now - timedelta(hours=6),
            resolved_at=now - timedelta(hours=5),
            finding=Finding(
                active=False,
                value=2400.0,
                summary="End-to-end p90 is back at 2.4 s.",
                summary_zh="端到端 p90 恢复到 2.4 秒。",
            ),
        ),
    ]


def story_incidents(now: datetime, worst: tuple[str, ...]) -> list[Incident]:
    """What the alert that fires is a part of, and one that is over and was not told."""
    part = IncidentAlert(
        id="al-1",
        rule="faithfulness drop",
        kind="drop",
        started_at=now - timedelta(minutes=44),
        fired_at=now - timedelta(minutes=42),
        broke_at=now - timedelta(minutes=60),
    )
    statement = FaultEvidence(
        kind=EvidenceKind.STATEMENT, text="It is <b>36</b> months.", value=0.1
    )
    told = Story(
        told_at=now - timedelta(minutes=2),
        since=now - timedelta(minutes=60),
        first="al-1",
        judged=214,
        judged_before=2090,
        growths=(
            FaultGrowth(
                fault=Fault.INVENTED, share=0.31, share_before=0.04, lower=0.19, upper=0.36
            ),
        ),
        concentrations=(
            Concentration(
                dimension="release",
                value="v43<script>",
                excess=0.52,
                lower=0.31,
                upper=0.68,
                of_bad=0.94,
                of_traffic=0.5,
            ),
        ),
        compared=9,
        examples=tuple(
            Example(
                trace_id=trace_id,
                fault=Fault.INVENTED,
                probability=0.9,
                question="How <i>long</i>?",
                evidence=(statement,),
            )
            for trace_id in worst[:1]
        ),
        step=NextStep(
            key="generation.release", dimension="release", value="v43<script>", against="v42"
        ),
    )
    going_on = Incident(
        id="in-1",
        project="default",
        app="loan-assistant",
        began_at=now - timedelta(minutes=60),
        alerts=(part,),
        story=told,
    )
    over = Incident(
        id="in-2",
        project="default",
        app="support-bot",
        began_at=now - timedelta(hours=7),
        ended_at=now - timedelta(hours=5),
        alerts=(replace(part, id="al-2", broke_at=None),),
    )
    return [going_on, over]


def summary_of(stored: StoredTrace) -> TraceSummary:
    """What a list shows of a stored trace."""
    trace = stored.trace
    return TraceSummary(
        trace_id=trace.trace_id,
        app=trace.app,
        release=trace.release,
        started_at=trace.started_at,
        status=trace.status,
        question=trace.question,
        answer=trace.answer,
        end_to_end_ms=trace.timings.end_to_end_ms,
        first_byte_ms=trace.timings.first_byte_ms,
        revision=trace.revision,
        scores={s.metric: s.value for s in stored.scores},
    )
