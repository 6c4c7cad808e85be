"""Learn the weights of relevance, of passages and of answers, and measure them.

Usage: `python -m benchmarks.embedded_judge.train_relevance DATA_FOLDER
[--once | --looked-at]`
Writes `rag_monitor/judges/embedded/relevance.json`; prints figures of five folds of questions, each
scored by weights that the other four taught. `--once` learns nothing: it scores the third of
`written_relevance` that is scored once a release, adds a line to the log of `PROTOCOL.md`, and puts
the tables into `EXPERIMENTS.md`. `--looked-at` does so with sets that may be looked at.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.embedded_judge import relevance_sets, sets
from benchmarks.embedded_judge.corpora import load
from benchmarks.embedded_judge.evaluate import FILES, PASSAGES, auroc, interval, relevance
from benchmarks.embedded_judge.measure import EXPERIMENTS, PROTOCOL, put
from benchmarks.embedded_judge.relevance_sets import Answer, Passages
from rag_monitor.domain.judgement import Aspect, JudgeRequest
from rag_monitor.judges.embedded import create_lexical
from rag_monitor.judges.embedded.combination import (
    ANSWER_FEATURES,
    PASSAGE_FEATURES,
    Combination,
)
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.features import look_up_all
from rag_monitor.judges.embedded.grade import AnswerStatement, answer_features, noncommittal
from rag_monitor.judges.embedded.relevance import passage_features, qualifiers_of
from rag_monitor.judges.embedded.segments import Segment
from rag_monitor.language.claims import take_apart

TARGET: Final = (
    Path(__file__).resolve().parents[2] / "rag_monitor" / "judges" / "embedded" / "relevance.json"
)
VERSION: Final = "1"
RIDGE: Final = 0.0001
MIX: Final[dict[str, float]] = {
    "written_en: relevant": 0.5, "written_en: not": 0.5, "written_zh: relevant": 0.5,
    "written_zh: not": 0.5, "clapnq_sent": 0.5, "article_zh: right_natural": 0.5,
    "article_zh: off_topic": 0.5, "written_en: echo": 3.0, "written_zh: echo": 3.0,
    "written_en: padded": 4.0, "written_zh: padded": 4.0, "made_en: padded_made": 3.0,
    "made_zh: padded_made": 3.0, "written_en: partial": 0.5, "written_zh: partial": 0.5,
}  # fmt: skip
"""How much a set, or a kind of it, counts in the fit where it is not 1."""
CONTRARY: Final = ("written_en", "written_zh")
"""Sets whose passages were written so that those beside the point repeat the question, and the
relevant one does not: counting the question's words, the fewer the better, would be right there
for 99 of 100 pairs, and wrong wherever a retriever found the passages."""
SHARED: Final = 3
"""Features, the first ones, that grow with the words shared with the question."""
FALSE_ALARMS: Final = 0.03
"""Share of right answers that may be graded below .5."""
MADE: Final = ("repeated", "padded_made")
KINDS: Final = ("echo", "padded", "off_topic", "evasive", "partial", *MADE)
"""Kinds of answers that are not right."""
_EVEN_ODDS: Final = 0.5
Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Lesson:
    """The features of one passage or answer, and what they should give."""

    corpus: str
    kind: str
    question: str
    features: list[float]
    wanted: float
    of_passage: bool

    @property
    def fold(self) -> int:
        """Which fold it is in; a question is in one."""
        return sets.part(f"fold {self.question}", sets.FOLDS)


def of_passages(rows: Sequence[Passages], language: str) -> list[Lesson]:
    """A lesson for each passage of a language."""
    found = []
    for row in rows:
        if row.language == language:
            asked = Segment(row.question)
            evidence = EvidenceIndex.build(row.contexts, row.question)
            vectors = passage_features(evidence, asked, qualifiers_of(asked))
            for features, label in zip(vectors, row.labels, strict=True):
                kind = "relevant" if label else "not"
                found.append(
                    Lesson(row.corpus, kind, row.question, features, float(label), of_passage=True)
                )
    return found


def of_answers(rows: Sequence[Answer], language: str) -> list[Lesson]:
    """A lesson for each answer of a language that states anything and does not decline."""
    found = []
    for row in rows:
        parts = take_apart(row.text)
        if row.language == language and parts.claims and not parts.declines:
            covered = [0.0] * len(parts.claims)
            if row.contexts:
                evidence = EvidenceIndex.build(row.contexts, row.question)
                covered = [one.covered for one in look_up_all(parts.claims, evidence)]
            features = answer_features(
                Segment(row.question),
                [
                    AnswerStatement(Segment(c.text), s)
                    for c, s in zip(parts.claims, covered, strict=True)
                ],
                noncommittal(row.text, parts),
            )
            found.append(
                Lesson(
                    row.corpus,
                    row.kind,
                    row.question,
                    features,
                    float(row.grade > _EVEN_ODDS),
                    of_passage=False,
                )
            )
    return found


def fit(lessons: Sequence[Lesson]) -> Combination:
    """Weights, none negative, of a logistic combination; every set and kind of it counts alike.

    Sets that are `CONTRARY` have weights of their own for what passages share with their question,
    of any sign, which are thrown away: these teach the others alone.
    """
    features = np.array([lesson.features for lesson in lessons])
    contrary = np.array([[float(one.corpus in CONTRARY and one.of_passage)] for one in lessons])
    shared = np.hstack([features[:, :SHARED], np.ones((len(lessons), 1))]) * contrary
    rows = np.hstack([features, shared])
    wanted = np.array([lesson.wanted for lesson in lessons])
    importance = weighed(lessons)

    def loss(theta: Vector) -> tuple[float, Vector]:
        odds = rows @ theta[:-1] + theta[-1]
        value = (importance * (np.logaddexp(0, odds) - wanted * odds)).sum()
        pull = importance * (1 / (1 + np.exp(-odds)) - wanted)
        gradient = np.append(rows.T @ pull + 2 * RIDGE * theta[:-1], pull.sum())
        return float(value + RIDGE * (theta[:-1] ** 2).sum()), gradient

    kept = features.shape[1]
    bounds = [(0.0, None)] * kept + [(None, None)] * (shared.shape[1] + 1)
    start = np.zeros(rows.shape[1] + 1)
    solved = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return Combination(tuple(map(float, solved.x[:kept])), float(solved.x[-1]))


def weighed(lessons: Sequence[Lesson]) -> Vector:
    """Each kind of each set counts as `MIX` says, and good and bad ones the same."""
    sizes = Counter((one.corpus, one.kind) for one in lessons)
    found = np.array(
        [
            MIX.get(f"{one.corpus}: {one.kind}", MIX.get(one.corpus, 1.0))
            / sizes[one.corpus, one.kind]
            for one in lessons
        ]
    )
    high = np.array([one.wanted > _EVEN_ODDS for one in lessons])
    found[high] /= found[high].sum()
    found[~high] /= found[~high].sum()
    return found


def held_out(lessons: Sequence[Lesson], fitted: Callable[..., Combination] = fit) -> Vector:
    """The log-odds of each lesson by weights that saw no lesson of its fold."""
    found = np.zeros(len(lessons))
    for fold in range(sets.FOLDS):
        learnt = fitted([one for one in lessons if one.fold != fold])
        for place, one in enumerate(lessons):
            if one.fold == fold:
                found[place] = odds(learnt, one)
    return found


def odds(learnt: Combination, one: Lesson) -> float:
    """Log-odds of one lesson."""
    return float(np.dot(learnt.weights, one.features) + learnt.bias)


def allowing(learnt: Combination, lessons: Sequence[Lesson], found: Vector) -> Combination:
    """The same, moved so that `FALSE_ALARMS` of the right answers of no set are below .5."""
    right: dict[str, list[float]] = defaultdict(list)
    for one, value in zip(lessons, found, strict=True):
        if one.kind.startswith("right") and not one.corpus.startswith("article"):
            right[one.corpus].append(value)
    lowest = min(float(np.quantile(values, FALSE_ALARMS)) for values in right.values())
    return Combination(learnt.weights, learnt.bias - lowest)


Told = tuple[str, str, str, float]
"""Set, kind, question and score of one passage or answer."""


def of_relevance(told: Sequence[Told]) -> str:
    """The table of passages."""
    lines = ["| passages | questions / passages | AUROC | over .5: relevant, not |"]
    lines.append("|---|---|---|---|")
    for corpus in sorted({one[0] for one in told}):
        own = [one for one in told if one[0] == corpus]
        label = np.array([one[1] == "relevant" for one in own], float)
        score = np.array([one[3] for one in own])
        questions = [one[2] for one in own]
        over = [np.mean(score[label == kind] > _EVEN_ODDS) for kind in (1, 0)]
        cells = f"{_auroc(label, score, questions)} | {over[0]:.0%}, {over[1]:.0%}"
        lines.append(f"| {corpus} | {len(set(questions))} / {len(own)} | {cells} |")
    return "\n".join(lines)


def of_grades(told: Sequence[Told]) -> str:
    """The table of answers: right ones against each kind of others."""
    lines = ["| right answers against | right / others | AUROC | below .5: right, others |"]
    lines.append("|---|---|---|---|")
    for corpus in sorted({one[0] for one in told if one[1] not in MADE}):
        right = [one for one in told if one[0] == corpus and one[1].startswith("right")]
        below = np.mean([one[3] < _EVEN_ODDS for one in right])
        made = corpus.replace("written", "made")
        for kind in KINDS:
            others = [one for one in told if one[0] in (corpus, made) and one[1] == kind]
            if others:
                both = right + others
                label = np.array([1.0] * len(right) + [0.0] * len(others))
                score = np.array([one[3] for one in both])
                missed = np.mean([one[3] < _EVEN_ODDS for one in others])
                area = _auroc(label, score, [one[2] for one in both])
                name, sizes = f"{corpus}: {kind}", f"{len(right)} / {len(others)}"
                lines.append(f"| {name} | {sizes} | {area} | {below:.1%}, {missed:.0%} |")
        if len(right) == sum(one[0] == corpus for one in told):
            lines.append(f"| {corpus} | {len(right)} / 0 | - | {below:.1%}, - |")
    return "\n".join(lines)


def _auroc(label: Vector, score: Vector, questions: Sequence[str]) -> str:
    low, high = interval(questions, lambda i: auroc(label[i], score[i]))
    return f"{auroc(label, score):.3f} [{low:.3f}, {high:.3f}]"


def learn(folder: Path) -> None:
    """Learn both languages, print the figures of the folds, write the weights."""
    all_passages, all_answers = relevance_sets.passages(folder), relevance_sets.answers(folder)
    languages: dict[str, Any] = {}
    told: dict[bool, list[Told]] = {False: [], True: []}
    for language in ("en", "zh"):
        shelf = {}
        for answers, name, features, lessons in (
            (False, "passage", PASSAGE_FEATURES, of_passages(all_passages, language)),
            (True, "answer", ANSWER_FEATURES, of_answers(all_answers, language)),
        ):
            learnt, found = fit(lessons), held_out(lessons)
            if answers:
                moved = allowing(learnt, lessons, found)
                found += moved.bias - learnt.bias
                learnt = moved
            probabilities = 1 / (1 + np.exp(-found))
            told[answers] += [
                (one.corpus, one.kind, one.question, float(value))
                for one, value in zip(lessons, probabilities, strict=True)
            ]
            shelf[name] = {
                "weights": {
                    feature: round(weight, 4)
                    for feature, weight in zip(features, learnt.weights, strict=True)
                },
                "bias": round(learnt.bias, 4),
            }
        languages[language] = shelf
    report = {"version": VERSION, "languages": languages}
    TARGET.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=1))
    print(of_relevance(told[False]), of_grades(told[True]), sep="\n\n")


def score_once() -> None:
    """Score what is scored once a release, log it, and write the table into `EXPERIMENTS.md`."""
    judge = create_lexical({})
    rows, said = relevance_sets.once()
    found: list[Told] = []
    for row in rows:
        request = JudgeRequest(
            question=row.question, answer="", contexts=row.contexts,
            aspects=frozenset({Aspect.RELEVANCE}),
        )  # fmt: skip
        verdicts = judge.judge_one(request).of(Aspect.RELEVANCE)
        found += [
            (row.corpus, "relevant" if label else "not", row.question, verdict.probability)
            for verdict, label in zip(verdicts, row.labels, strict=True)
        ]
    graded: list[Told] = []
    for answer in said:
        request = JudgeRequest(
            question=answer.question, answer=answer.text, contexts=None,
            aspects=frozenset({Aspect.GRADE}),
        )  # fmt: skip
        [verdict] = judge.judge_one(request).of(Aspect.GRADE)
        graded.append((answer.corpus, answer.kind, answer.question, verdict.probability))
    now = datetime.now(UTC)
    tables = f"{of_relevance(found)}\n\n{of_grades(graded)}"
    text = f"{tables}\n\nIdentity `{judge.identity}`, {now:%Y-%m-%d}."
    print(text)
    with PROTOCOL.open("a", encoding="utf-8") as log:
        log.write(f"- {now:%Y-%m-%d %H:%M}: relevance, `{judge.identity}`\n")
    put(EXPERIMENTS, "once relevance", text)


def looked_at(folder: Path) -> None:
    """Score the sets that may be looked at, and write the table into `EXPERIMENTS.md`."""
    judge = create_lexical({})
    by: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for name in FILES:
        for row in load(folder, name):
            by[row["dataset"]].append(row)
    lines = ["| data | passages | AUROC | MAP | accuracy |", "|---|---|---|---|---|"]
    for name in PASSAGES:
        told = relevance(by[name], judge)
        cells = [told["auroc"], told["map"], told["accuracy"]]
        shown = " | ".join("-" if value is None else f"{value:.3f}" for value in cells)
        lines.append(f"| {name} | {told['passages']} | {shown} |")
    print("\n".join(lines))
    put(EXPERIMENTS, "relevance", "\n".join(lines))


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--once", action="store_true")
    arguments.add_argument("--looked-at", action="store_true")
    chosen = arguments.parse_args()
    if chosen.once:
        score_once()
    elif chosen.looked_at:
        looked_at(chosen.folder)
    else:
        learn(chosen.folder)
