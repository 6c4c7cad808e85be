"""Learn the weights of sufficiency, by words and beside the encoder, and measure them.

Usage: `python -m benchmarks.embedded_judge.train_sufficiency DATA_FOLDER [--measure]`
Writes `rag_monitor/judges/embedded/sufficiency.json`; prints figures of five folds of groups, each
scored by a probe and weights that the other four taught: by words, beside the encoder, the gain,
and the gain on passages that the encoder never read. `--measure` learns nothing: it scores what
taught nothing, and puts the tables into `docs/model-card.md`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from benchmarks.embedded_judge import sets
from benchmarks.embedded_judge.evaluate import auroc, interval
from benchmarks.embedded_judge.measure import CARD, put
from benchmarks.embedded_judge.sufficiency_sets import Contexts, learnt, measured
from rag_monitor.domain.judgement import Aspect, JudgeRequest
from rag_monitor.judges.embedded import EmbeddedJudge, create, create_lexical
from rag_monitor.judges.embedded.combination import (
    READ_FEATURES,
    SUFFICIENCY_FEATURES,
    Combination,
)
from rag_monitor.judges.embedded.encoder import shipped_encoder
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.segments import Segment
from rag_monitor.judges.embedded.sufficiency import sufficiency_features
from rag_monitor.judges.embedded.sufficiency_reading import readings

TARGET: Final = (
    Path(__file__).resolve().parents[2] / "rag_monitor" / "judges" / "embedded" / "sufficiency.json"
)
RIDGE: Final = 0.001
PROBE_C: Final = 2e-4
"""Inverse of the ridge of the probe, on standardised states."""
LANGUAGES: Final = ("en", "zh")
THREADS: Final = 2
_EVEN: Final = 0.5
Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Read:
    """One window that the encoder read beside a question."""

    row: int
    states: NDArray[np.float32]
    label: float | None


def read(rows: Sequence[Contexts]) -> list[Read]:
    """What the encoder says of every window of every row."""
    encoder = shipped_encoder(THREADS)
    found = []
    for number, row in enumerate(rows):
        evidence = EvidenceIndex.build(row.passages, row.question)
        pairs = readings(evidence, Segment(row.question), range(len(row.passages)))
        for (_, window), states in zip(pairs, encoder.states(pairs), strict=True):
            found.append(Read(number, states, row.label(window)))
    return found


def probe_of(rows: Sequence[Contexts], windows: Sequence[Read]) -> Combination:
    """A logistic regression on the states of windows whose label is known.

    In every set windows that bear the answer count as much as others, and a set by the square root
    of its windows.
    """
    known = [one for one in windows if one.label is not None]
    states = np.array([one.states for one in known], float)
    labels = np.array([one.label for one in known])
    names = np.array([rows[one.row].corpus for one in known])
    importance = np.zeros(len(known))
    for name in np.unique(names):
        for value in (0.0, 1.0):
            own = (names == name) & (labels == value)
            importance[own] = np.sqrt((names == name).sum()) / max(1, own.sum())
    centre, spread = states.mean(0), states.std(0)
    learnt = LogisticRegression(C=PROBE_C, max_iter=300, tol=1e-4)
    learnt.fit((states - centre) / spread, labels, importance / importance.mean())
    weights = learnt.coef_[0] / spread
    return Combination(
        tuple(float(round(weight, 5)) for weight in weights),
        float(round(learnt.intercept_[0] - centre @ weights, 5)),
    )


def probed(count: int, windows: Sequence[Read], probe: Combination) -> Vector:
    """Log-odds of each row: the most that a window of it gives."""
    found = np.full(count, -np.inf)
    odds = np.array([one.states for one in windows], float) @ np.array(probe.weights) + probe.bias
    np.maximum.at(found, [one.row for one in windows], odds)
    return found


def features_of(rows: Sequence[Contexts]) -> Vector:
    """A vector for each row."""
    found = []
    for row in rows:
        evidence = EvidenceIndex.build(row.passages, row.question)
        features, _ = sufficiency_features(
            evidence, Segment(row.question), range(len(row.passages))
        )
        found.append(features)
    return np.array(found)


def fit(features: Vector, wanted: Vector, corpora: Sequence[str]) -> Combination:
    """Weights, none negative, of a logistic combination.

    Every set counts alike, and so do contexts that suffice and others: .5 is even evidence.
    """
    importance = np.zeros(len(wanted))
    names = np.array(corpora)
    for name in np.unique(names):
        for value in (0.0, 1.0):
            rows = (names == name) & (wanted == value)
            importance[rows] = 1 / rows.sum()
    importance /= importance.sum()

    def loss(theta: Vector) -> tuple[float, Vector]:
        odds = features @ theta[:-1] + theta[-1]
        value = (importance * (np.logaddexp(0, odds) - wanted * odds)).sum()
        pull = importance * (1 / (1 + np.exp(-odds)) - wanted)
        gradient = np.append(features.T @ pull + 2 * RIDGE * theta[:-1], pull.sum())
        return float(value + RIDGE * (theta[:-1] ** 2).sum()), gradient

    count = features.shape[1]
    bounds = [(0.0, None)] * count + [(None, None)]
    solved = minimize(loss, np.zeros(count + 1), jac=True, method="L-BFGS-B", bounds=bounds)
    return Combination(tuple(map(float, solved.x[:count])), float(solved.x[-1]))


def folds_of(rows: Sequence[Contexts]) -> NDArray[np.int64]:
    """Which fold each row is in; a group is in one."""
    return np.array([sets.part(f"fold {row.group}", sets.FOLDS) for row in rows])


def held_out(rows: Sequence[Contexts], features: Vector, wanted: Vector) -> Vector:
    """The probability of each row by weights that saw no row of its fold."""
    folds = folds_of(rows)
    found = np.zeros(len(rows))
    for fold in range(sets.FOLDS):
        kept = folds != fold
        taught = fit(features[kept], wanted[kept], [r.corpus for r in np.array(rows)[kept]])
        for place in np.flatnonzero(~kept):
            found[place] = taught.probability(features[place])
    return found


def table(rows: Sequence[Contexts], scores: Vector) -> str:
    """AUROC with its 95 % interval over groups, and what lies over .5, of each set."""
    lines = ["| data | questions / contexts | AUROC | over .5: sufficient, not |"]
    lines.append("|---|---|---|---|")
    for corpus in dict.fromkeys(row.corpus for row in rows):
        own = [place for place, row in enumerate(rows) if row.corpus == corpus]
        label = np.array([float(rows[place].sufficient) for place in own])
        score, groups = scores[own], [rows[place].group for place in own]
        low, high = interval(groups, lambda i: auroc(label[i], score[i]))  # noqa: B023
        over = [np.mean(score[label == kind] > _EVEN) for kind in (1, 0)]
        area = f"{auroc(label, score):.3f} [{low:.3f}, {high:.3f}]"
        asked = len({rows[place].question for place in own})
        lines.append(f"| {corpus} | {asked} / {len(own)} | {area} | {over[0]:.0%}, {over[1]:.0%} |")
    return "\n".join(lines)


def gains(rows: Sequence[Contexts], words: Vector, both: Vector) -> str:
    """AUROC by words and beside the encoder, and the gain with its 95 % interval over groups."""
    lines = ["| data | by words | beside the encoder | gain |", "|---|---|---|---|"]
    for corpus in dict.fromkeys(row.corpus for row in rows):
        own = [place for place, row in enumerate(rows) if row.corpus == corpus]
        label = np.array([float(rows[place].sufficient) for place in own])
        one, other = words[own], both[own]

        def gain(i: NDArray[np.int64]) -> float:
            return auroc(label[i], other[i]) - auroc(label[i], one[i])  # noqa: B023

        low, high = interval([rows[place].group for place in own], gain)
        areas = f"{auroc(label, one):.3f} | {auroc(label, other):.3f}"
        lines.append(
            f"| {corpus} | {areas} | {gain(np.arange(len(own))):+.3f} [{low:+.3f}, {high:+.3f}] |"
        )
    return "\n".join(lines)


def learn(folder: Path) -> None:
    """Learn both languages, print the figures of the folds, write the weights."""
    rows = learnt(folder)
    windows, folds = read(rows), folds_of(rows)
    probe = probe_of(rows, windows)
    out_of_fold = np.zeros(len(rows))
    for fold in range(sets.FOLDS):
        others = probe_of(rows, [one for one in windows if folds[one.row] != fold])
        out_of_fold[folds == fold] = probed(len(rows), windows, others)[folds == fold]
    words: dict[str, Any] = {}
    both: dict[str, Any] = {}
    for language in LANGUAGES:
        places = [place for place, row in enumerate(rows) if row.language == language]
        own = [rows[place] for place in places]
        features = features_of(own)
        wanted = np.array([float(row.sufficient) for row in own])
        beside = np.column_stack([features, out_of_fold[places]])
        words[language] = _weights(SUFFICIENCY_FEATURES, own, features, wanted)
        both[language] = _weights(READ_FEATURES, own, beside, wanted)
        scores = [held_out(own, of, wanted) for of in (features, beside)]
        print(table(own, scores[0]), table(own, scores[1]), gains(own, *scores), sep="\n\n")
        unread = [place for place, row in enumerate(own) if row.unread]
        print("Unread:", gains([own[place] for place in unread], *(s[unread] for s in scores)))
    version = shipped_encoder(THREADS).version
    beside_encoder = {
        "encoder": version,
        "languages": both,
        "probe": {"bias": probe.bias, "weights": list(probe.weights)},
    }
    report = {"version": "2", "languages": words, "read": beside_encoder}
    TARGET.write_text(json.dumps(report) + "\n", encoding="utf-8")
    print(json.dumps({"languages": words, "read": both}, indent=1))


def _weights(
    names: Sequence[str], rows: Sequence[Contexts], features: Vector, wanted: Vector
) -> dict[str, Any]:
    taught = fit(features, wanted, [row.corpus for row in rows])
    weights = zip(names, taught.weights, strict=True)
    return {
        "weights": {name: round(weight, 4) for name, weight in weights},
        "bias": round(taught.bias, 4),
    }


def measure(folder: Path) -> None:
    """Score what taught nothing, and write the tables into the card."""
    rows, texts, scores = measured(folder), [], []
    for judge in (create_lexical({}), create({"encoder_threads": THREADS})):
        scores.append(_scores(judge, rows))
        found = table(rows, scores[-1])
        texts.append(f"{found}\n\nIdentity `{judge.identity}`, {datetime.now(UTC):%Y-%m-%d}.")
    text = "\n\n".join([texts[1], "By words alone:", texts[0]])
    print(text, gains(rows, *scores), sep="\n\n")
    unread = [place for place, row in enumerate(rows) if row.unread]
    print("Unread:", gains([rows[place] for place in unread], *(s[unread] for s in scores)))
    put(CARD, "sufficiency", text)


def _scores(judge: EmbeddedJudge, rows: Sequence[Contexts]) -> Vector:
    scores = []
    for row in rows:
        request = JudgeRequest(
            question=row.question, answer="", contexts=row.passages,
            aspects=frozenset({Aspect.SUFFICIENCY}),
        )  # fmt: skip
        [verdict] = judge.judge_one(request).of(Aspect.SUFFICIENCY)
        scores.append(verdict.probability)
    return np.array(scores)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--measure", action="store_true")
    chosen = arguments.parse_args()
    (measure if chosen.measure else learn)(chosen.folder)
