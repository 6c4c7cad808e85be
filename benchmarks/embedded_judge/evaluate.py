"""Measure the embedded judge on labelled data and print one JSON object.

Usage: `python -m benchmarks.embedded_judge.evaluate DATA_FOLDER [support | relevance] [--lexical]`
Positive = unsupported. Intervals: 95 %, bootstrap over sources. The figures of corpora that the
weights were learnt on are marked `"in_training": true`; `held_out` gives theirs from weights that
never saw the source.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.embedded_judge.corpora import EVERYDAY_SEEN, everyday, load
from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest, Statement
from rag_monitor.judges.embedded import EmbeddedJudge, create, create_lexical
from rag_monitor.offline.agreement import JudgedRow
from rag_monitor.offline.calibration import fit_calibration

Vector = NDArray[np.float64]
SUPPORT = frozenset({Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED})
RELEVANCE = frozenset({Aspect.RELEVANCE})
DRAWS = 500
THREADS = 2
"""What the encoder may take; it does not change a figure."""
FILES = (
    "wice_dev", "expertqa_claims", "halueval_qa_first1000", "clapnq_dev", "ragtruth_qa_dev",
    "ocnli_zh_dev", "uhgeval_zh", "rgb_zh", "rgb_en",
)  # fmt: skip
ANSWERS = (
    "ragtruth", "wice", "wice_oracle", "expertqa", "halueval_qa", "ocnli", "rgb_en_fact_ans",
    "rgb_zh_fact_ans", "rgb_zh_refine_ans",
)  # fmt: skip
EVERYDAY = (
    "everyday_en", "everyday_zh", "everyday_later_en", "everyday_later_zh", "everyday_third_en",
    "everyday_fourth_en",
)  # fmt: skip
PASSAGES = (
    "clapnq", "clapnq_sent", "rgb_en_fact", "rgb_zh_refine", "rgb_zh_int", "rgb_zh_fact", "wice",
)  # fmt: skip


def auroc(positive: Vector, doubt: Vector) -> float:
    """Area under the ROC curve by ranks, ties counted half."""
    order = np.argsort(doubt, kind="stable")
    ranks = np.empty(len(doubt))
    values = doubt[order]
    start = 0
    for stop in range(1, len(values) + 1):
        if stop == len(values) or values[stop] != values[start]:
            ranks[order[start:stop]] = (start + stop + 1) / 2
            start = stop
    hits = positive.sum()
    rest = len(positive) - hits
    if not hits or not rest:
        return float("nan")
    return float((ranks[positive > 0].sum() - hits * (hits + 1) / 2) / (hits * rest))


def interval(groups: Sequence[str], statistic: Callable[[NDArray[np.int64]], float]) -> list[float]:
    """95 % bootstrap interval of a statistic over whole groups."""
    members: dict[str, list[int]] = defaultdict(list)
    for number, group in enumerate(groups):
        members[group].append(number)
    blocks = [np.array(block) for block in members.values()]
    draw = np.random.default_rng(5)
    values = []
    for _ in range(DRAWS):
        chosen = np.concatenate([blocks[i] for i in draw.integers(0, len(blocks), len(blocks))])
        value = statistic(chosen)
        if value == value:
            values.append(value)
    return [round(float(q), 3) for q in np.quantile(values, [0.025, 0.975])]


def flags(positive: Vector, flagged: Vector) -> dict[str, float]:
    """Precision, recall, F1 and balanced accuracy of hard flags."""
    hits = float((positive * flagged).sum())
    precision = hits / max(1.0, flagged.sum())
    recall = hits / max(1.0, positive.sum())
    passed = float(((1 - positive) * (1 - flagged)).sum()) / max(1.0, (1 - positive).sum())
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    return {
        "precision": round(precision, 3),
        "recall": round(recall, 3),
        "f1": round(f1, 3),
        "balanced_accuracy": round((recall + passed) / 2, 3),
    }


def calibrated(positive: Vector, raw: Vector, groups: Sequence[str]) -> dict[str, float]:
    """ECE and Brier as `rag-monitor calibrate` reports them: sources the fit never saw.

    Isotonic from 1,000 rows, else Platt's two parameters; each half judged by the other's fit.
    """
    rows = [
        JudgedRow(
            probability=float(1 / (1 + np.exp(value))), flagged=False, faithful=not bad, group=owner
        )
        for value, bad, owner in zip(raw, positive, groups, strict=True)
    ]
    facts = fit_calibration(rows, judge="").facts
    return {
        "ece": round(facts["held_out"]["ece"], 3),
        "brier": facts["held_out"]["brier"],
        "brier_of_base_rate": facts["brier_of_base_rate"],
    }


def ece(positive: Vector, probabilities: Vector, bins: int = 10) -> float:
    """Expected calibration error over bins of equal mass."""
    order = np.argsort(probabilities)
    parts = [part for part in np.array_split(order, bins) if len(part)]
    return float(
        sum(len(p) * abs(probabilities[p].mean() - positive[p].mean()) for p in parts)
        / len(positive)
    )


def judge(row: dict[str, Any], engine: EmbeddedJudge) -> Judgement:
    """The judgement on one row."""
    return engine.judge_one(
        JudgeRequest(
            question=row["question"] or "",
            answer=row["answer"],
            contexts=tuple(row["contexts"]),
            aspects=SUPPORT,
        )
    )


def support_report(
    rows: list[dict[str, Any]], groups: list[str], engine: EmbeddedJudge, *, in_training: bool
) -> dict[str, Any]:
    """Every figure of `answer_supported` on one data set."""
    kept, doubt, supported, flagged, mean = [], [], [], [], []
    for number, row in enumerate(rows):
        judgement = judge(row, engine)
        verdicts = judgement.of(Aspect.ANSWER_SUPPORTED)
        if not verdicts:
            continue
        kept.append(number)
        doubt.append(-(verdicts[0].raw or 0.0))
        supported.append(verdicts[0].probability)
        flagged.append(verdicts[0].probability < judgement.threshold)
        claims = judgement.of(Aspect.SUPPORT)
        mean.append(sum(v.probability for v in claims) / len(claims))
    positive = np.array([1.0 - rows[i]["label_faithful"] for i in kept])
    raw, hard = np.array(doubt), np.array(flagged, float)
    owners = [groups[i] for i in kept]
    lengths = np.array([np.log1p(len(rows[i]["answer"])) for i in kept])
    report = {
        "rows": len(rows),
        "judged": len(kept),
        "unsupported": int(positive.sum()),
        "in_training": in_training,
        "auroc": round(auroc(positive, raw), 3),
        "auroc_interval": interval(owners, lambda i: auroc(positive[i], raw[i])),
        "auroc_faithfulness": round(auroc(positive, -np.array(mean)), 3),
        "auroc_length_alone": round(auroc(positive, lengths), 3),
        "auroc_without_length": round(auroc(positive, residual(raw, lengths)), 3),
        **flags(positive, hard),
        "flagged": round(float(hard.mean()), 3),
        "ece_as_shipped": round(ece(positive, 1 - np.array(supported)), 3),
        **calibrated(positive, raw, owners),
    }
    report["balanced_accuracy_interval"] = interval(
        owners, lambda i: flags(positive[i], hard[i])["balanced_accuracy"]
    )
    report["f1_interval"] = interval(owners, lambda i: flags(positive[i], hard[i])["f1"])
    models = sorted({rows[i]["model"] or "" for i in kept})
    if len(models) > 2:
        report["by_generator"] = {
            model: [
                len(chosen),
                int(positive[chosen].sum()),
                round(auroc(positive[chosen], raw[chosen]), 3),
            ]
            for model in models
            if len(chosen := np.array([n for n, i in enumerate(kept) if rows[i]["model"] == model]))
        }
    return report


def residual(raw: Vector, nuisance: Vector) -> Vector:
    """What is left of `raw` after a straight line in `nuisance`."""
    slope, shift = np.polyfit(nuisance, raw, 1)
    return raw - slope * nuisance - shift


def keywords(rows: list[dict[str, Any]], engine: EmbeddedJudge) -> dict[str, Any]:
    """UHGEval at keyword level: every keyword a statement of its own."""
    positive, doubt, owners = [], [], []
    for row in rows:
        marked = row["extra"]["keywords"] if not row["label_faithful"] else []
        if not marked:
            continue
        answer = row["answer"]
        request = JudgeRequest(
            question="",
            answer=answer,
            contexts=tuple(row["contexts"]),
            aspects=SUPPORT,
            statements=tuple(Statement(text=answer[s:e], start=s, end=e) for s, e, _ in marked),
        )
        for verdict, (_, _, reasonable) in zip(
            engine.judge_one(request).of(Aspect.SUPPORT), marked, strict=True
        ):
            positive.append(1.0 - reasonable)
            doubt.append(-(verdict.raw or 0.0))
            owners.append(row["id"].split(":")[1])
    labels, raw = np.array(positive), np.array(doubt)
    return {
        "keywords": len(positive),
        "unreasonable": int(labels.sum()),
        "in_training": True,
        "auroc": round(auroc(labels, raw), 3),
        "auroc_interval": interval(owners, lambda i: auroc(labels[i], raw[i])),
        **calibrated(labels, raw, owners),
    }


def relevance(rows: list[dict[str, Any]], engine: EmbeddedJudge) -> dict[str, Any]:
    """Context relevance: AUROC over passages, mean average precision over queries."""
    positive, score, precisions, correct = [], [], [], []
    for row in rows:
        query = row["question"] or row["answer"]
        verdicts = engine.judge_one(
            JudgeRequest(
                question=query, answer="", contexts=tuple(row["contexts"]), aspects=RELEVANCE
            )
        ).of(Aspect.RELEVANCE)
        labels = row["context_labels"]
        values = [v.raw or 0.0 for v in verdicts]
        positive += labels
        score += values
        correct += [float(v.holds == bool(lab)) for v, lab in zip(verdicts, labels, strict=True)]
        if any(labels) and len(labels) > 1:
            ranked = [
                lab for _, lab in sorted(zip(values, labels, strict=True), key=lambda p: -p[0])
            ]
            hits = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
            precisions.append(float((hits * np.array(ranked)).sum() / sum(ranked)))
    labels_, held = np.array(positive, float), np.array(score) >= 0.5
    return {
        "passages": len(positive),
        "auroc": round(auroc(labels_, np.array(score)), 3),
        "map": round(float(np.mean(precisions)), 3) if precisions else None,
        "accuracy": round(float(np.mean(correct)), 3),
        "said_relevant": round(float(held.mean()), 3),
        "relevant": round(float(labels_.mean()), 3),
    }


def speed(rows: list[dict[str, Any]], engine: EmbeddedJudge) -> dict[str, float]:
    """Milliseconds per trace on one core, all support verdicts."""
    spent = []
    for row in rows:
        started = time.perf_counter()
        judge(row, engine)
        spent.append(1000 * (time.perf_counter() - started))
    return {
        "p50_ms": round(float(np.quantile(spent, 0.5)), 3),
        "p99_ms": round(float(np.quantile(spent, 0.99)), 3),
        "traces_per_second": round(1000 / float(np.mean(spent)), 1),
    }


def engine_of(arguments: Sequence[str]) -> EmbeddedJudge:
    """The judge as it is shipped, or with `--lexical` its variant that judges by words alone."""
    return create_lexical({}) if "--lexical" in arguments else create({"encoder_threads": THREADS})


def main(folder: Path, engine: EmbeddedJudge, only: str = "") -> None:
    """Measure everything, or only support or relevance, and print it."""
    by: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for name in FILES:
        for row in load(folder, name):
            by[row["dataset"]].append(row)
    for row in everyday():
        by[row["dataset"]].append(row)
    trained = {"wice", "wice_oracle", "expertqa", "halueval_qa", *EVERYDAY_SEEN}
    found: dict[str, Any] = {
        "judge": str(engine.identity),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "load_average": round(os.getloadavg()[0], 1),
    }
    if only != "relevance":
        support: dict[str, Any] = {}
        for name in ANSWERS:
            rows = by[name]
            groups = [group(row) for row in rows]
            support[name] = support_report(rows, groups, engine, in_training=name in trained)
            print(name, file=sys.stderr, flush=True)
        found["answer_supported"] = support
        found["everyday"] = {
            name: support_report(
                by[name], [group(row) for row in by[name]], engine, in_training=name in trained
            )
            for name in EVERYDAY
        }
        found["uhgeval_keywords"] = keywords(by["uhgeval"], engine)
    if only != "support":
        found["context_relevance"] = {name: relevance(by[name], engine) for name in PASSAGES}
    if not only:
        found["speed_ragtruth"] = speed(by["ragtruth"], engine)
    print(json.dumps(found, indent=1, ensure_ascii=False))


def group(row: dict[str, Any]) -> str:
    """The source of a row."""
    if row["dataset"] == "ragtruth":
        return str(row["extra"]["source_id"])
    if row["dataset"] == "ocnli" or row["dataset"] in EVERYDAY:
        return str(row["contexts"][0])
    return str(row["id"].split(":")[1])


if __name__ == "__main__":
    plain = [argument for argument in sys.argv[2:] if argument != "--lexical"]
    main(Path(sys.argv[1]), engine_of(sys.argv), *plain[:1])
