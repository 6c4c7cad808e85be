"""Why a trace was judged or not, as sentences for the person who asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rag_monitor.domain.decision import PEOPLE, SamplingDecision, SamplingReason
from rag_monitor.sampling.draw import hash_unit

_REASONS: Final = {
    SamplingReason.BASE_RATE: ("the base rate", "基础抽样率"),
    SamplingReason.STRATUM: ("the rate of stratum {stratum}", "分层 {stratum} 的抽样率"),
    SamplingReason.ERROR: ("a trace that failed", "失败的请求"),
    SamplingReason.UNCERTAIN: ("an unsure embedded score", "内置评审不确定"),
    SamplingReason.NEW_RELEASE: ("a new release", "新版本"),
    SamplingReason.BUDGET: ("a budget that is nearly spent", "预算将尽"),
}
_CERTAIN: Final = {
    SamplingReason.ALWAYS: ("it sees every trace", "它评审每条请求"),
    SamplingReason.FORCED: ("somebody asked for it", "有人要求评审"),
    SamplingReason.FEEDBACK: ("a user marked the trace", "用户标记了该请求"),
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """One sentence in two languages."""

    english: str
    chinese: str


def explain(decision: SamplingDecision, trace_id: str) -> Explanation:
    """What the draw was and how it fell; recomputed from what is stored."""
    who, who_zh = decision.judge, decision.judge
    done, not_done = "judged by", "not judged by"
    if decision.judge == PEOPLE:
        who_zh, done, not_done = "人工", "given to", "not given to"
    certain = _CERTAIN.get(decision.reason)
    if certain is not None:
        return Explanation(
            f"{done.capitalize()} {who}: {certain[0]}.", f"由 {who_zh} 评审：{certain[1]}。"
        )
    share = f"{decision.probability:.3g}"
    number = f"{hash_unit(decision.salt, trace_id):.3g}" if decision.salt else "?"
    reason, reason_zh = (
        text.format(stratum=decision.stratum) for text in _REASONS[decision.reason]
    )
    if decision.included:
        return Explanation(
            f"{done.capitalize()} {who}: its number {number} is below {share} ({reason}).",
            f"由 {who_zh} 评审：其抽样数 {number} 低于 {share}（{reason_zh}）。",
        )
    return Explanation(
        f"{not_done.capitalize()} {who}: its number {number} is not below {share} ({reason}).",
        f"未由 {who_zh} 评审：其抽样数 {number} 不低于 {share}（{reason_zh}）。",
    )
