"""Learn the weights of the embedded judge, for words alone or beside an encoder.

Usage: `python -m benchmarks.embedded_judge.train DATA_FOLDER [--words] [--encoder DIR] [--ablate]`
Writes `shipped/weights.json`, with `--words` `weights.json` of `rag_monitor/judges/embedded`, and
prints what was learnt as JSON. `--ablate` prints what each feature is worth, and puts it into the
card. Deterministic: the same rows give the same files. Needs scipy; the judge itself needs nothing.

A claim's log-odds of doubt is linear in its features and in what the encoder says, with weights
that cannot be negative. Rows with labels of sentences teach claim by claim; of other rows the
likelihood is that all their claims are supported, claims taken as independent. Every set counts
the same. An answer's doubt pools those of its claims by one of `POOLINGS`. Calibration and
threshold come from folds of groups that did not teach what scores them.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.optimize import minimize

from benchmarks.embedded_judge import sets
from benchmarks.embedded_judge.evaluate import auroc
from benchmarks.embedded_judge.measure import EXPERIMENTS, put
from benchmarks.embedded_judge.samples import Sample, Vector, ask, samples
from rag_monitor.judges.embedded.encoder import Encoder, load_encoder, shipped_encoder
from rag_monitor.judges.embedded.features import CLAIM_FEATURES
from rag_monitor.judges.embedded.model import (
    POOLINGS,
    apply_floors,
    counted_logits,
    pooled_surprisal,
)

PACKAGE: Final = Path(__file__).resolve().parents[2] / "rag_monitor" / "judges" / "embedded"
VERSION: Final = "14"
TERMS: Final = (*CLAIM_FEATURES, "contradiction", "missing")
RIDGE: Final = 0.005
"""Of .005 to .2 the best on sets that taught nothing, by .001 in English and .003 in Chinese."""
PRIOR: Final = 0.5
"""Share of unsupported claims, and answers, that the calibration assumes: .5 is where the evidence
is even. `rag-monitor calibrate` learns the share of an application."""
ANSWERS: Final = {
    "en": {"rag_en": 2.0, "natural_en": 2.0, "expertqa_answer": 1.0, "everyday_third_en": 1.0,
           "everyday_fourth_en": 1.0},
    "zh": {"rag_zh": 2.0, "natural_zh": 2.0, "citecheck": 1.0, "everyday_zh": 1.0,
           "everyday_later_zh": 1.0},
}  # fmt: skip
"""Sets whose answers of several statements choose their calibration, and the threshold; answers
over several passages, which the judge is for, count twice."""
EVERY_SET: Final[Mapping[str, float]] = defaultdict(lambda: 1.0)
"""Each set counts the same."""
FALSE_ALARMS: Final = 0.15
"""Share of right answers that the threshold may flag. The threshold of the best balanced accuracy
moves by several hundredths when a few of the answers that chose it change."""
Fitted = tuple[Vector, float]
Judgements = list[tuple[str, float, bool]]
"""Set, doubt or probability, and whether it is unsupported, of claims or answers."""
Judged = dict[str, tuple[Vector, list[Vector]]]
"""Set to the labels of its answers, 1 for unsupported, and the doubts of the claims of each."""


def terms(one: Sample, unread: Vector) -> Vector:
    """Features of every claim with what counts of what the encoder says; zeros without one."""
    said = [
        counted_logits(tuple(unread) if read is None else read, claim.proven)
        for claim, read in zip(one.claims, one.read, strict=True)
    ]
    return np.hstack([one.features, np.array(said).reshape(-1, 2)])


def mean_read(found: Sequence[Sample]) -> Vector:
    """What stands for claims that were not read: the mean over those that were."""
    said = [read for one in found for read in one.read if read is not None]
    return np.array(said).mean(axis=0).round(4) if said else np.zeros(2)


def lessons(found: Sequence[Sample], unread: Vector) -> list[tuple[str, Vector, bool]]:
    """Set, claims and whether any is unsupported; labelled sentences are lessons of their own."""
    made = []
    for one in found:
        free = [settled is None for settled in one.settled]
        rows = terms(one, unread)
        if one.labels:
            made += [
                (one.row.corpus, rows[n : n + 1], label != "supported")
                for n, label in enumerate(one.labels)
                if label != "none" and free[n]
            ]
        elif any(free):
            made.append((one.row.corpus, rows[free], not one.row.supported))
    return made


def fit_claims(taught: Sequence[tuple[str, Vector, bool]], columns: Sequence[int]) -> Fitted:
    """Weights, none negative, of some of the terms, and the bias."""
    rows = np.vstack([claims for _, claims, _ in taught])[:, columns]
    owner = np.repeat(np.arange(len(taught)), [len(claims) for _, claims, _ in taught])
    doubted = np.array([bad for _, _, bad in taught])
    named = [(name, bad) for name, _, bad in taught]
    importance = _importance(named, EVERY_SET)
    scale = rows.std(axis=0) + 1e-6
    scaled = rows / scale

    def loss(theta: Vector) -> tuple[float, Vector]:
        doubt = scaled @ theta[:-1] + theta[-1]
        holds = np.bincount(owner, -np.logaddexp(0, doubt), len(taught))
        holds = np.minimum(holds, -1e-9)
        likelihood = np.where(doubted, np.log(-np.expm1(holds)), holds)
        slope = np.where(doubted, -np.exp(holds) / -np.expm1(holds), 1.0) * importance
        pull = slope[owner] * -1 / (1 + np.exp(-doubt))
        gradient = -np.append(scaled.T @ pull, pull.sum())
        gradient[:-1] += 2 * RIDGE * theta[:-1]
        return float(-(importance * likelihood).sum() + RIDGE * (theta[:-1] ** 2).sum()), gradient

    start = np.zeros(len(columns) + 1)
    bounds = [(0.0, None)] * len(columns) + [(None, None)]
    solved = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return solved.x[:-1] / scale, float(solved.x[-1])


def _importance(named: Sequence[tuple[str, bool]], counts: Mapping[str, float]) -> Vector:
    """Each set counts what `counts` says, and both labels of it the same."""
    sizes = Counter(named)
    weights = np.array([counts[name] / sizes[name, bad] for name, bad in named])
    return np.asarray(weights / weights.sum())


def doubts(one: Sample, fitted: Fitted, columns: Sequence[int], unread: Vector) -> Vector:
    """The doubt of every claim."""
    raw = terms(one, unread)[:, columns] @ fitted[0] + fitted[1]
    return np.array(
        [apply_floors(claim, value)[0] for claim, value in zip(one.claims, raw, strict=True)]
    )


def pooled(claims: Sequence[Vector], pooling: str) -> Vector:
    """The doubt of every answer."""
    return np.array([pooled_surprisal(list(map(float, doubts)), pooling) for doubts in claims])


def mean_auroc(judged: Judged, pooling: str) -> float:
    """Over sets."""
    return float(np.mean([auroc(bad, pooled(claims, pooling)) for bad, claims in judged.values()]))


def best_pooling(judged: Judged) -> str:
    """The one of `POOLINGS` with the best mean AUROC over sets that taught nothing."""
    return max(POOLINGS, key=lambda pooling: mean_auroc(judged, pooling))


def platt(judged: Judgements, counts: Mapping[str, float]) -> tuple[float, float]:
    """Slope and shift that make raw numbers log-odds, at a share `PRIOR` of bad ones."""
    raw = np.array([value for _, value, _ in judged])
    bad = np.array([wrong for *_, wrong in judged], float)
    importance = _importance([(name, wrong) for name, _, wrong in judged], counts)
    balanced = np.where(
        bad > 0,
        PRIOR * importance / importance[bad > 0].sum(),
        (1 - PRIOR) * importance / importance[bad == 0].sum(),
    )

    def loss(theta: Vector) -> float:
        odds = theta[0] * raw + theta[1]
        return float((balanced * (np.logaddexp(0, odds) - bad * odds)).sum())

    solved = minimize(loss, np.array([1.0, 0.0]), method="L-BFGS-B",
                      bounds=[(0.05, 5), (None, None)])  # fmt: skip
    return float(solved.x[0]), float(solved.x[1])


def learn(found: Sequence[Sample], language: str, columns: Sequence[int]) -> dict[str, Any]:
    """Weights of one language; calibration and threshold from folds that did not teach them."""
    own = [one for one in found if one.row.language == language]
    unread = mean_read(own)
    weights, bias = fit_claims(lessons(own, unread), columns)
    pooling = best_pooling(left_out(own, unread, columns))
    claims: Judgements = []
    single: Judgements = []
    answers: Judgements = []
    for fold in range(sets.FOLDS):
        kept = [one for one in own if one.row.fold == fold]
        rest = [one for one in own if one.row.fold != fold]
        held = fit_claims(lessons(rest, unread), columns)
        claims += [
            (corpus, float((rows[:, columns] @ held[0] + held[1])[0]), bad)
            for corpus, rows, bad in lessons(kept, unread)
            if len(rows) == 1
        ]
        for one in kept:
            doubted = doubts(one, held, columns, unread)
            if len(doubted) == 1:
                single.append((one.row.corpus, float(doubted[0]), not one.row.supported))
            elif one.row.corpus in ANSWERS[language]:
                [raw] = pooled([doubted], pooling).tolist()
                answers.append((one.row.corpus, raw, not one.row.supported))
    slope, shift = platt(claims, EVERY_SET)
    answer_slope, answer_shift = platt(answers, ANSWERS[language])
    every = np.zeros(len(TERMS))
    every[list(columns)] = weights
    return {
        "claim": [round(float(w), 5) for w in every[:-2]],
        "bias": round(bias, 5),
        "read": [round(float(w), 5) for w in every[-2:]],
        "unread": unread.tolist(),
        "slope": round(slope, 5),
        "shift": round(shift, 5),
        "pooling": pooling,
        "answer_slope": round(answer_slope, 5),
        "answer_shift": round(answer_shift, 5),
        **threshold(
            (calibrated(answers, answer_slope, answer_shift), ANSWERS[language]),
            (calibrated(single, slope, shift), EVERY_SET),
        ),
    }


def calibrated(judged: Judgements, slope: float, shift: float) -> Judgements:
    """The probability of support in the place of a doubt."""
    return [(name, float(1 / (1 + np.exp(slope * raw + shift))), bad) for name, raw, bad in judged]


def threshold(*kinds: tuple[Judgements, Mapping[str, float]]) -> dict[str, float]:
    """The probability below which answers are flagged, and the shares of both labels that are.

    The highest that flags at most `FALSE_ALARMS` of the right ones, in the mean over answers of
    several statements and of one.
    """
    values = np.arange(5, 96) / 100
    shares = {True: np.zeros(len(values)), False: np.zeros(len(values))}
    for judged, counts in kinds:
        supported = np.array([value for _, value, _ in judged])
        bad = np.array([wrong for *_, wrong in judged])
        importance = _importance([(name, wrong) for name, _, wrong in judged], counts)
        for label, share in shares.items():
            own = importance * (bad == label)
            share += (supported < values[:, None]) @ own / own.sum() / len(kinds)
    highest = int(np.flatnonzero(shares[False] <= FALSE_ALARMS)[-1])
    return {
        "threshold": float(values[highest]),
        "right_flagged": round(float(shares[False][highest]), 3),
        "wrong_flagged": round(float(shares[True][highest]), 3),
    }


def left_out(own: Sequence[Sample], unread: Vector, columns: Sequence[int]) -> Judged:
    """Labels of every set, and the doubts of its claims by weights without its kind."""
    by_kind: dict[str, Fitted] = {}
    found = {}
    for corpus in sorted({one.row.corpus for one in own}):
        kind = kind_of(corpus)
        if kind not in by_kind:
            rest = [one for one in own if kind_of(one.row.corpus) != kind]
            by_kind[kind] = fit_claims(lessons(rest, unread), columns)
        rows = [one for one in own if one.row.corpus == corpus]
        bad = np.array([not one.row.supported for one in rows], float)
        if 0 < bad.sum() < len(bad):
            found[corpus] = bad, [doubts(one, by_kind[kind], columns, unread) for one in rows]
    return found


def kind_of(corpus: str) -> str:
    """Sets of one maker are of one kind."""
    return corpus.split("_")[0]


def ablate(found: Sequence[Sample], language: str, columns: Sequence[int]) -> dict[str, Any]:
    """Mean AUROC over sets that were left out, with every term and without each of them."""
    own = [one for one in found if one.row.language == language]
    unread = mean_read(own)
    judged = left_out(own, unread, columns)
    pooling = best_pooling(judged)
    whole = {name: auroc(bad, pooled(of, pooling)) for name, (bad, of) in judged.items()}
    table: dict[str, Any] = {
        "all": round(float(np.mean(list(whole.values()))), 4),
        "sets": {name: round(value, 4) for name, value in whole.items()},
    }
    draw = np.random.default_rng(5)

    def lost(rest: Judged, otherwise: str) -> list[float]:
        by_set = np.array(
            [whole[name] - auroc(bad, pooled(of, otherwise)) for name, (bad, of) in rest.items()]
        )
        drawn = draw.choice(by_set, (2000, len(by_set))).mean(axis=1)
        return [round(float(v), 4) for v in (by_set.mean(), *np.quantile(drawn, [0.025, 0.975]))]

    for column in columns:
        rest = left_out(own, unread, [c for c in columns if c != column])
        table[TERMS[column]] = lost(rest, pooling)
    [other] = POOLINGS.keys() - {pooling}
    table["pooling"] = [pooling, *lost(judged, other)]
    return table


def ablation(report: dict[str, Any]) -> str:
    """The table of the card."""
    rows = ["| left out | English | Chinese |", "|---|---|---|"]
    means = [f"{report[lang]['all']:.3f}" for lang in ("en", "zh")]
    rows.append(f"| nothing: mean AUROC | {' | '.join(means)} |")
    for name in TERMS:
        if name not in report["en"]:
            continue
        cells = ["{:.4f} [{:.4f}, {:.4f}]".format(*report[lang][name]) for lang in ("en", "zh")]
        rows.append(f"| `{name}` | {' | '.join(cells)} |")
    cells = [
        "{}: {:.4f} [{:.4f}, {:.4f}]".format(*report[lang]["pooling"]) for lang in ("en", "zh")
    ]
    rows.append(f"| pooling, for the other | {' | '.join(cells)} |")
    return "\n".join(rows)


def main(folder: Path, encoder: Encoder | None, *, only_ablate: bool) -> None:
    """Learn both languages, by words alone or with the encoder, and write the weights.

    Beside an encoder only rows that it did not learn from teach.
    """
    found = samples(sets.sampled(folder, unread=encoder is not None))
    columns = range(len(TERMS) if encoder else len(CLAIM_FEATURES))
    if encoder:
        ask(found, encoder)
    if only_ablate:
        report: dict[str, Any] = {lang: ablate(found, lang, columns) for lang in ("en", "zh")}
        put(EXPERIMENTS, "ablation", ablation(report))
    else:
        report = {
            "version": VERSION,
            "features": list(CLAIM_FEATURES),
            "encoder": encoder.version if encoder else "",
            "languages": {lang: learn(found, lang, columns) for lang in ("en", "zh")},
        }
        target = PACKAGE / "shipped" if encoder else PACKAGE
        text = json.dumps(report, indent=1) + "\n"
        (target / "weights.json").write_text(text, encoding="utf-8")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--words", action="store_true", help="by words alone")
    arguments.add_argument("--encoder", type=Path, help="folder of another than the shipped one")
    arguments.add_argument("--ablate", action="store_true")
    chosen = arguments.parse_args()
    reader: Encoder | None = None
    if not chosen.words:
        reader = load_encoder(chosen.encoder, 2) if chosen.encoder else shipped_encoder(2)
    main(chosen.folder, reader, only_ablate=chosen.ablate)
