"""Learn the embedded judge's weights from the verdicts of another judge, on a tenant's own data.

A claim's log-odds of doubt stays linear in its evidence, with weights that are never negative. The
verdicts are soft labels of a logistic regression that is pulled towards the weights it starts from:
few verdicts change little, many decide. Claims and whole answers are then calibrated to the teacher
by Platt's two parameters, and the threshold is the one that splits the teacher's hard verdicts
best.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rag_monitor.errors import RagMonitorError
from rag_monitor.i18n import Message
from rag_monitor.judges.embedded.features import CLAIM_FEATURES, ClaimEvidence
from rag_monitor.judges.embedded.model import (
    ClaimVerdict,
    EncoderLogits,
    Model,
    Weights,
    apply_floors,
    calibrated_answer_logit,
    counted_logits,
    judge_claim,
    pooled_surprisal,
    sigmoid,
)
from rag_monitor.language.script import has_han
from rag_monitor.statistics.agreement import auroc
from rag_monitor.statistics.calibration import brier, fit_platt

Vector = NDArray[np.float64]

FEWEST: Final = 60
"""Answers of one language from which its weights are learnt anew; with fewer they stay."""
_FEWEST_OF_A_CLASS: Final = 10
_PULL: Final = 20.0
"""How many claims the weights a fit starts from are worth."""
_ROUNDS: Final = 3000


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """One answer: what its claims rest on, and what the teacher said."""

    group: str
    """Answers of one group (question, source) are not independent."""
    text: str
    claims: Sequence[ClaimEvidence]
    read: Sequence[EncoderLogits | None]
    """What the encoder says of each claim; None where it was not asked."""
    taught: Sequence[float | None]
    """The teacher's probability that each claim is supported; None where it gave none."""
    answer: float
    """The teacher's probability that no claim is unsupported."""
    holds: bool
    """The teacher's hard verdict on the answer."""

    @property
    def language(self) -> str:
        """Which weights judge it."""
        return "zh" if has_han(self.text) else "en"


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilled:
    """New weights and how they do on answers they never saw."""

    packed: bytes
    """The weights file."""
    version: str
    facts: dict[str, Any]


def distil(lessons: Sequence[Lesson], start: Model, encoder: str = "") -> Distilled:
    """Learn weights of every language with enough lessons, from both halves of the sources.

    Args:
        lessons: Judged by the teacher, with answers of both kinds.
        start: The weights to start from.
        encoder: Version of the encoder that gave `Lesson.read`; empty: none.

    Raises:
        RagMonitorError: No language has enough lessons of both kinds.
    """
    by_language = {
        language: [lesson for lesson in lessons if lesson.language == language]
        for language in ("en", "zh")
    }
    learnt, facts = {}, {}
    for language, own in by_language.items():
        before = start.of_language(language)
        if not _enough(own):
            learnt[language] = (
                before if start.encoder == encoder else replace(before, read=(0.0, 0.0))
            )
            facts[language] = {"answers": len(own), "learnt": False}
            continue
        # A language whose weights leave this very encoder out goes on doing so: it costs time.
        with_encoder = bool(encoder) and (start.encoder != encoder or any(before.read))
        learnt[language] = _learn(own, before, with_encoder=with_encoder)
        facts[language] = _facts(own, before, with_encoder=with_encoder)
    if not any(fact["learnt"] for fact in facts.values()):
        raise RagMonitorError(
            "distilling needs {fewest} answers of one language, {fewest_of_a_class} of them held "
            "and {fewest_of_a_class} rejected by the teacher; there are {there}",
            fewest=FEWEST,
            fewest_of_a_class=_FEWEST_OF_A_CLASS,
            there=tuple(_counted(own, language) for language, own in by_language.items()),
        )
    languages = {name: _plain(weights) for name, weights in learnt.items()}
    content = {"features": list(CLAIM_FEATURES), "encoder": encoder, "languages": languages}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]
    version = f"distilled-{digest}"
    packed = json.dumps({"version": version, **content, "facts": facts}, indent=1) + "\n"
    return Distilled(packed=packed.encode(), version=version, facts=facts)


def _counted(lessons: Sequence[Lesson], language: str) -> Message:
    held = sum(lesson.holds for lesson in lessons)
    return Message(
        "{held} held and {rejected} rejected in {language}",
        held=held,
        rejected=len(lessons) - held,
        language=language,
    )


def _enough(lessons: Sequence[Lesson]) -> bool:
    held = sum(lesson.holds for lesson in lessons)
    return len(lessons) >= FEWEST and _FEWEST_OF_A_CLASS <= held <= len(lessons) - (
        _FEWEST_OF_A_CLASS
    )


def _learn(lessons: Sequence[Lesson], before: Weights, *, with_encoder: bool) -> Weights:
    rows, taught = [], []
    unread = _mean_read(lessons) if with_encoder else (0.0, 0.0)
    for lesson in lessons:
        for claim, read, value in zip(lesson.claims, lesson.read, lesson.taught, strict=True):
            if value is not None and not apply_floors(claim, 0.0)[1]:
                logits = (
                    counted_logits(read or unread, claim.proven) if with_encoder else (0.0, 0.0)
                )
                rows.append([*claim.features, *logits])
                taught.append(1.0 - value)
    weights = replace(before, unread=unread)
    if rows:
        given = np.array([*before.claim, *before.read, before.bias])
        solved = [round(float(w), 5) for w in _fit(np.array(rows), np.array(taught), given)]
        weights = replace(
            weights,
            claim=tuple(solved[:-3]),
            read=(solved[-3], solved[-2]) if with_encoder else (0.0, 0.0),
            bias=solved[-1],
        )
    return _calibrated(lessons, weights)


def _mean_read(lessons: Sequence[Lesson]) -> EncoderLogits:
    logits = [read for lesson in lessons for read in lesson.read if read is not None]
    if not logits:
        return 0.0, 0.0
    contradicted, missing = np.array(logits).mean(axis=0).round(5).tolist()
    return contradicted, missing


def _fit(features: Vector, doubted: Vector, start: Vector) -> Vector:
    """Weights and bias: soft-label logistic regression by projected accelerated gradient.

    Each feature is scaled to a spread of one; the pull towards the start is in those units.
    """
    scale = np.append(features.std(axis=0) + 1e-3, 1.0)
    scaled = np.column_stack([features, np.ones(len(features))]) / scale
    origin = start * scale
    pull = np.full(len(origin), _PULL / len(features))
    pull[-1] = 1.0 / len(features)
    bound = 0.25 * np.linalg.norm(scaled, 2) ** 2 / len(features) + pull.max()
    point = theta = origin
    momentum = 1.0
    for _ in range(_ROUNDS):
        odds = scaled @ point
        slope = scaled.T @ (1 / (1 + np.exp(-odds)) - doubted) / len(features)
        moved = point - (slope + pull * (point - origin)) / bound
        moved[:-1] = np.maximum(0.0, moved[:-1])
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        point = moved + (momentum - 1) / following * (moved - theta)
        if np.abs(moved - theta).max() < 1e-7:
            theta = moved
            break
        theta, momentum = moved, following
    return np.asarray(theta / scale)


def _calibrated(lessons: Sequence[Lesson], weights: Weights) -> Weights:
    """The same weights with claims, answers and threshold fitted to the teacher."""
    claim_raw, claim_taught = [], []
    answer_raw, answer_taught = [], []
    for lesson in lessons:
        verdicts = _verdicts(lesson, weights)
        for verdict, value in zip(verdicts, lesson.taught, strict=True):
            if value is not None:
                claim_raw.append(verdict.logit_unsupported)
                claim_taught.append(value < 0.5)
        if len(verdicts) > 1:
            answer_raw.append(
                pooled_surprisal(
                    [verdict.logit_unsupported for verdict in verdicts], weights.pooling
                )
            )
            answer_taught.append(not lesson.holds)
    if len(set(claim_taught)) == 2:
        slope, shift = _platt(claim_raw, claim_taught)
        weights = replace(weights, slope=slope, shift=shift)
    if len(set(answer_taught)) == 2:
        slope, shift = _platt(answer_raw, answer_taught)
        weights = replace(weights, answer_slope=slope, answer_shift=shift)
    supported = [_supported(lesson, weights) for lesson in lessons]
    return replace(weights, threshold=_threshold(supported, [lesson.holds for lesson in lessons]))


def _verdicts(lesson: Lesson, weights: Weights) -> list[ClaimVerdict]:
    return [
        judge_claim(claim, read, weights)
        for claim, read in zip(lesson.claims, lesson.read, strict=True)
    ]


def _supported(lesson: Lesson, weights: Weights) -> float:
    return 1 - sigmoid(
        calibrated_answer_logit([v.logit_unsupported for v in _verdicts(lesson, weights)], weights)
    )


def _platt(raw: Sequence[float], doubted: Sequence[bool]) -> tuple[float, float]:
    """Slope and shift that make raw numbers log-odds of doubt; the slope stays positive."""
    squeezed = [float(1 / (1 + np.exp(-value))) for value in raw]
    fitted = fit_platt(squeezed, doubted)
    return round(max(0.05, fitted.slope), 5), round(fitted.intercept, 5)


def _threshold(supported: Sequence[float], holds: Sequence[bool]) -> float:
    values, held = np.array(supported), np.array(holds)
    best, chosen = 0.0, 0.5
    for threshold in np.linspace(0.05, 0.95, 181):
        gained = (values[~held] < threshold).mean() + (values[held] >= threshold).mean()
        if gained > best + 1e-9:
            best, chosen = float(gained), float(threshold)
    return round(chosen, 3)


def _facts(lessons: Sequence[Lesson], before: Weights, *, with_encoder: bool) -> dict[str, Any]:
    """How weights learnt on one half of the sources agree with the teacher on the other."""
    halves: tuple[list[Lesson], list[Lesson]] = ([], [])
    for lesson in lessons:
        halves[hashlib.sha256(lesson.group.encode("utf-8", "replace")).digest()[0] % 2].append(
            lesson
        )
    facts: dict[str, Any] = {
        "answers": len(lessons),
        "claims": sum(len(lesson.claims) for lesson in lessons),
        "rejected": sum(not lesson.holds for lesson in lessons),
        "learnt": True,
        "before": _measured(lessons, [_supported(lesson, before) for lesson in lessons]),
        "held_out": None,
    }
    if all(len({lesson.holds for lesson in half}) == 2 for half in halves):
        seen, supported = [], []
        for taught, unseen in (halves, halves[::-1]):
            weights = _learn(taught, before, with_encoder=with_encoder)
            seen += unseen
            supported += [_supported(lesson, weights) for lesson in unseen]
        facts["held_out"] = _measured(seen, supported)
    return facts


def _measured(lessons: Sequence[Lesson], supported: Sequence[float]) -> dict[str, float]:
    holds = [lesson.holds for lesson in lessons]
    ranked = auroc([-value for value in supported], [not held for held in holds])
    return {
        "auroc": round(ranked if ranked is not None else float("nan"), 4),
        "brier": round(brier(supported, holds), 4),
    }


def _plain(weights: Weights) -> dict[str, Any]:
    return {name: getattr(weights, name) for name in Weights.__slots__}
