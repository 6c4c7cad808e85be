"""Learn the weights of sufficiency, and measure them.

Usage: `python -m benchmarks.embedded_judge.train_sufficiency DATA_FOLDER [--measure]`
Writes `rag_monitor/judges/embedded/sufficiency.json`; prints figures of five folds of groups, each
scored by weights that the other four taught. `--measure` learns nothing: it scores what taught
nothing, and puts the table into `docs/model-card.md`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.embedded_judge import sets
from benchmarks.embedded_judge.evaluate import auroc, interval
from benchmarks.embedded_judge.measure import CARD, put
from benchmarks.embedded_judge.sufficiency_sets import Contexts, learnt, measured
from rag_monitor.domain.judgement import Aspect, JudgeRequest
from rag_monitor.judges.embedded import create_lexical
from rag_monitor.judges.embedded.combination import SUFFICIENCY_FEATURES, Combination
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.segments import Segment
from rag_monitor.judges.embedded.sufficiency import sufficiency_features

TARGET: Final = (
    Path(__file__).resolve().parents[2] / "rag_monitor" / "judges" / "embedded" / "sufficiency.json"
)
RIDGE: Final = 0.001
_EVEN: Final = 0.5
Vector = NDArray[np.float64]


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


def held_out(rows: Sequence[Contexts], features: Vector, wanted: Vector) -> Vector:
    """The probability of each row by weights that saw no row of its fold."""
    folds = np.array([sets.part(f"fold {row.group}", sets.FOLDS) for row in rows])
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


def learn(folder: Path) -> None:
    """Learn both languages, print the figures of the folds, write the weights."""
    everything = learnt(folder)
    languages = {}
    for language in ("en", "zh"):
        rows = [row for row in everything if row.language == language]
        features = features_of(rows)
        wanted = np.array([float(row.sufficient) for row in rows])
        taught = fit(features, wanted, [row.corpus for row in rows])
        print(table(rows, held_out(rows, features, wanted)))
        weights = zip(SUFFICIENCY_FEATURES, taught.weights, strict=True)
        languages[language] = {
            "weights": {name: round(weight, 4) for name, weight in weights},
            "bias": round(taught.bias, 4),
        }
    report = {"version": "1", "languages": languages}
    TARGET.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=1))


def measure(folder: Path) -> None:
    """Score what taught nothing, and write the table into the card."""
    judge = create_lexical({})
    rows, scores = measured(folder), []
    for row in rows:
        request = JudgeRequest(
            question=row.question, answer="", contexts=row.passages,
            aspects=frozenset({Aspect.SUFFICIENCY}),
        )  # fmt: skip
        [verdict] = judge.judge_one(request).of(Aspect.SUFFICIENCY)
        scores.append(verdict.probability)
    found = table(rows, np.array(scores))
    text = f"{found}\n\nIdentity `{judge.identity}`, {datetime.now(UTC):%Y-%m-%d}."
    print(text)
    put(CARD, "sufficiency", text)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--measure", action="store_true")
    chosen = arguments.parse_args()
    (measure if chosen.measure else learn)(chosen.folder)
