"""Learn the weights of the embedded judge from permissively licensed rows.

Usage: `python -m benchmarks.embedded_judge.train DATA_FOLDER`
Writes `rag_monitor/judges/embedded/weights.json` and prints what was learnt as JSON. Deterministic:
the same rows give the same file. Needs scipy; the judge itself needs nothing.

A claim's log-odds of doubt is linear in its features with weights that cannot be negative. An
answer is supported when all of its claims are, claims taken as independent; the likelihood of that
is what is maximised, so rows of one claim and of many teach the same weights.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.embedded_judge.corpora import EVERYDAY_SEEN, Row, all_rows
from benchmarks.embedded_judge.evaluate import auroc
from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.features import CLAIM_FEATURES, ClaimEvidence, look_up_all
from rag_monitor.judges.embedded.model import COUNTED, settle, total_doubt
from rag_monitor.language.claims import take_apart

Vector = NDArray[np.float64]

TARGET = (
    Path(__file__).resolve().parents[2] / "rag_monitor" / "judges" / "embedded" / "weights.json"
)
VERSION = "6"
RIDGE = 1e-2
FOLDS = 4
MIX: dict[str, dict[str, float]] = {
    "en": {
        "wice": 1, "wice_withheld": 0.3, "wice_oracle": 1, "expertqa": 0.5, "expertqa_answer": 0.5,
        "clapnq": 1, "clapnq_withheld": 0.5, "clapnq_long": 1, "clapnq_added": 1, "halueval": 0.2,
        "made_en": 0.3, "made_en_withheld": 0.3, "made_en_negation": 0.1, "made_en_name": 0.1,
        "made_en_number": 0.1, "made_en_unit": 0.02, "made_en_opposite": 0.05,
        "everyday_en": 0.1, "everyday_third_en": 0.2,
    },
    "zh": {
        "uhgeval_keyword": 1, "uhgeval": 0.3, "made_zh": 0.5, "made_zh_withheld": 0.5,
        "made_zh_number": 0.3, "made_zh_negation": 0.2, "made_zh_opposite": 0.2,
        "made_zh_unit": 0.1, "everyday_zh": 3,
    },
}  # fmt: skip
"""How much each corpus counts in the fit."""
POOLS: dict[str, tuple[dict[str, float], dict[str, float]]] = {
    "en": (
        {"clapnq": 0.25, "clapnq_long": 0.25, "wice": 0.125, "wice_oracle": 0.125,
         "expertqa": 0.25},
        {"clapnq_withheld": 0.25, "wice": 0.125, "wice_oracle": 0.125, "wice_withheld": 0.25,
         "expertqa": 0.25},
    ),
    "zh": (
        {"made_zh": 0.5, "uhgeval_keyword": 0.5},
        {"uhgeval": 0.5, "made_zh_withheld": 0.1, "made_zh_number": 0.15, "made_zh_negation": 0.15,
         "made_zh_opposite": 0.1},
    ),
}  # fmt: skip
"""Where the supported and the unsupported claims of made-up answers come from, and how often.

No permissive corpus has long answers with a label, so the answer level is calibrated on bags of
held-out claims: half of the supported ones near the wording of their source, half freely put.
"""
THRESHOLDS = (10, 190)
"""The least and the greatest of the thresholds that are tried, in parts of 200."""
NEIGHBOURS = 4
"""Thresholds on either side that a threshold is taken together with: .02."""
PRIOR = 0.25
"""Share of unsupported claims that the calibration of single claims assumes."""
BAGS = 20_000
BAG_CLAIMS = (1, 12)
"""Fewest and most claims of a made-up answer; all lengths are equally likely."""
COUNT_SLOPE = -0.7
"""What the log number of claims (of the first three) adds to an answer's total doubt. 0 would take
claims as independent, -1 would judge the mean claim; one short bad answer must still look bad."""
CLAIM_PRIOR = 0.15
CLAIM_PRIOR_POWER = -0.6
"""Share of unsupported claims of an answer of one claim, and how it falls with their number: long
answers are worse, but not by as much as if every claim stood alone. About a quarter of the made-up
answers has an unsupported claim."""


@dataclass(slots=True, eq=False)
class Sample:
    """One row with its claims looked up."""

    row: Row
    claims: list[ClaimEvidence]
    features: Vector


def samples(rows: list[Row]) -> list[Sample]:
    """Look up every claim of every row that states something."""
    found = []
    for row in rows:
        evidence = Evidence.build(row.contexts, row.question)
        claims = look_up_all(take_apart(row.answer).claims, evidence, row.answer)
        if claims:
            found.append(Sample(row, claims, np.array([c.features for c in claims])))
    return found


def corpus_weights(chosen: list[Sample], mix: dict[str, float]) -> Vector:
    """Each corpus counts as the mix says, both labels count the same."""
    sizes: dict[str, int] = {}
    for sample in chosen:
        sizes[sample.row.corpus] = sizes.get(sample.row.corpus, 0) + 1
    weights = np.array([mix[s.row.corpus] / sizes[s.row.corpus] for s in chosen])
    doubted = np.array([not s.row.supported for s in chosen])
    weights[doubted] *= 0.5 / weights[doubted].sum()
    weights[~doubted] *= 0.5 / weights[~doubted].sum()
    return weights


def fit(chosen: list[Sample], mix: dict[str, float]) -> tuple[Vector, float]:
    """Feature weights, none negative, and the bias."""
    features = np.vstack([s.features for s in chosen])
    owner = np.repeat(np.arange(len(chosen)), [len(s.features) for s in chosen])
    doubted = np.array([not s.row.supported for s in chosen])
    scale = features.std(axis=0) + 1e-6
    scaled = features / scale
    weights = corpus_weights(chosen, mix)

    def loss(theta: Vector) -> tuple[float, Vector]:
        doubt = scaled @ theta[:-1] + theta[-1]
        holds = np.bincount(owner, -np.logaddexp(0, doubt), len(chosen))
        holds = np.minimum(holds, -1e-9)
        likelihood = np.where(doubted, np.log(-np.expm1(holds)), holds)
        slope = np.where(doubted, -np.exp(holds) / -np.expm1(holds), 1.0) * weights
        pull = slope[owner] * -1 / (1 + np.exp(-doubt))
        gradient = -np.append(scaled.T @ pull, pull.sum())
        gradient[:-1] += 2 * RIDGE * theta[:-1]
        return float(-(weights * likelihood).sum() + RIDGE * (theta[:-1] ** 2).sum()), gradient

    start = np.zeros(features.shape[1] + 1)
    bounds = [(0.0, None)] * features.shape[1] + [(None, None)]
    solved = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return solved.x[:-1] / scale, float(solved.x[-1])


def doubts(sample: Sample, weights: Vector, bias: float, *, for_answer: bool = True) -> list[float]:
    """Log-odds of doubt of every claim, contradictions included."""
    return [
        settle(claim, float(raw))[int(for_answer)]
        for claim, raw in zip(sample.claims, sample.features @ weights + bias, strict=True)
    ]


def fold_of(group: str) -> int:
    """The fold of a source; the same in every run."""
    return int(hashlib.sha256(group.encode()).hexdigest(), 16) % FOLDS


def out_of_fold(chosen: list[Sample], mix: dict[str, float]) -> list[list[float]]:
    """Doubts of every sample from weights that never saw its source."""
    found: list[list[float]] = [[] for _ in chosen]
    for fold in range(FOLDS):
        weights, bias = fit([s for s in chosen if fold_of(s.row.group) != fold], mix)
        for number, sample in enumerate(chosen):
            if fold_of(sample.row.group) == fold:
                found[number] = doubts(sample, weights, bias)
    return found


def platt(raw: Vector, doubted: Vector, weights: Vector, prior: float) -> tuple[float, float]:
    """Slope and shift that make raw numbers log-odds, at a share `prior` of doubted rows."""
    bad, good = weights[doubted > 0].sum(), weights[doubted == 0].sum()
    balanced = np.where(doubted > 0, prior * weights / bad, (1 - prior) * weights / good)

    def loss(theta: Vector) -> float:
        odds = theta[0] * raw + theta[1]
        return float((balanced * (np.logaddexp(0, odds) - doubted * odds)).sum())

    solved = minimize(
        loss, np.array([1.0, 0.0]), method="L-BFGS-B", bounds=[(0.05, 5), (None, None)]
    )
    return float(solved.x[0]), float(solved.x[1])


def best_threshold(supported: Vector, doubted: Vector, weights: Vector) -> float:
    """The probability that splits best: highest balanced accuracy, over it and its neighbours.

    Over a few hundred rows the curve is ragged, and its highest point is a matter of two of them.
    """
    candidates = np.arange(THRESHOLDS[0], THRESHOLDS[1] + 1) / 200
    reached = []
    for threshold in candidates:
        flagged = supported < threshold
        hit = weights[flagged & (doubted > 0)].sum() / weights[doubted > 0].sum()
        passed = weights[~flagged & (doubted == 0)].sum() / weights[doubted == 0].sum()
        reached.append(hit + passed)
    width = 2 * NEIGHBOURS + 1
    smooth = np.convolve(reached, np.full(width, 1 / width), mode="valid")
    return float(candidates[NEIGHBOURS + int(smooth.argmax())])


def bags(
    chosen: list[Sample], held_out: list[list[float]], language: str
) -> tuple[Vector, Vector, Vector]:
    """Total doubt and claims of made-up answers, and whether a claim is unsupported."""
    draw = np.random.default_rng(3)
    pools = []
    for label, shares in zip((True, False), POOLS[language], strict=True):
        values: list[float] = []
        weights: list[float] = []
        for corpus, share in shares.items():
            found = [
                doubt
                for sample, row_doubts in zip(chosen, held_out, strict=True)
                if sample.row.corpus == corpus and sample.row.supported is label
                for doubt in row_doubts
            ]
            values += found
            weights += [share / len(found)] * len(found)
        pools.append((np.array(values), np.array(weights) / sum(weights)))
    raw, doubted = np.zeros(BAGS), np.zeros(BAGS)
    sizes = draw.integers(BAG_CLAIMS[0], BAG_CLAIMS[1] + 1, BAGS)
    for number, size in enumerate(sizes):
        bad = int(draw.binomial(size, CLAIM_PRIOR * size**CLAIM_PRIOR_POWER))
        good_values, good_weights = pools[0]
        bad_values, bad_weights = pools[1]
        claims = [
            *draw.choice(good_values, size - bad, p=good_weights),
            *draw.choice(bad_values, bad, p=bad_weights),
        ]
        raw[number], doubted[number] = total_doubt([float(c) for c in claims]), bad > 0
    return raw, sizes.astype(float), doubted


def learn(every: list[Sample], language: str) -> dict[str, Any]:
    """Weights and calibration of one language."""
    mix = MIX[language]
    chosen = [s for s in every if s.row.corpus in mix]
    weights, bias = fit(chosen, mix)
    held_out = out_of_fold(chosen, mix)
    return {
        "claim": [round(float(w), 5) for w in weights],
        "bias": round(bias, 5),
        **calibration(chosen, held_out, language, mix),
        "held_out_auroc": held_out_figures(chosen, held_out),
    }


def calibration(
    chosen: list[Sample], held_out: list[list[float]], language: str, mix: dict[str, float]
) -> dict[str, float]:
    """Calibration of claims and answers, and the threshold, from doubts that are held out.

    The threshold is to split the made-up answers and the everyday ones, each counting half.
    """
    importance = corpus_weights(chosen, mix)
    doubted = np.array([not s.row.supported for s in chosen], float)
    single = np.array([len(d) == 1 for d in held_out])
    slope, shift = platt(
        np.array([max(d) for d in held_out])[single], doubted[single], importance[single], PRIOR
    )
    raw, sizes, bad = bags(chosen, held_out, language)
    raw = raw + COUNT_SLOPE * np.log(np.minimum(sizes, COUNTED))
    answer_slope, answer_shift = platt(raw, bad, np.ones(len(bad)), float(bad.mean()))
    supported = 1 / (1 + np.exp(answer_slope * raw + answer_shift))
    answers = np.array([s.row.corpus in EVERYDAY_SEEN for s in chosen])
    real, wrong = answer_doubts(held_out)[answers], doubted[answers]
    supported = np.append(supported, 1 / (1 + np.exp(answer_slope * real + answer_shift)))
    judged = np.append(bad, wrong)
    halves = np.append(np.full(len(bad), 1 / len(bad)), np.full(len(real), 1 / len(real)))
    return {
        "slope": round(slope, 5),
        "shift": round(shift, 5),
        "answer_slope": round(answer_slope, 5),
        "answer_shift": round(answer_shift, 5),
        "count_slope": COUNT_SLOPE,
        "threshold": round(best_threshold(supported, judged, halves), 3),
    }


def answer_doubts(held_out: list[list[float]]) -> Vector:
    """Raw doubt of whole answers, from that of their claims."""
    return np.array(
        [total_doubt(d) + COUNT_SLOPE * float(np.log(min(len(d), COUNTED))) for d in held_out]
    )


def held_out_figures(chosen: list[Sample], held_out: list[list[float]]) -> dict[str, float]:
    """AUROC per corpus that has both labels, from weights that never saw the source."""
    found = {}
    for corpus in sorted({s.row.corpus for s in chosen}):
        rows = [(s, d) for s, d in zip(chosen, held_out, strict=True) if s.row.corpus == corpus]
        positive = np.array([not s.row.supported for s, _ in rows], float)
        if 0 < positive.sum() < len(positive):
            found[corpus] = round(auroc(positive, np.array([total_doubt(d) for _, d in rows])), 3)
    return found


def main(folder: Path) -> None:
    """Learn both languages and write the weights."""
    every = samples(all_rows(folder))
    learnt = {
        "version": VERSION,
        "features": list(CLAIM_FEATURES),
        "languages": {language: learn(every, language) for language in MIX},
    }
    TARGET.write_text(json.dumps(learnt, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(learnt, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
