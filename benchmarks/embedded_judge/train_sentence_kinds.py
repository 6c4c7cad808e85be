"""Learn which sentences decline, are courtesies, or state something, and measure it.

    python -m benchmarks.embedded_judge.train_sentence_kinds DATA_FOLDER [--write]

Teaches from `sentence_kinds/*.txt`, whose lines are patterns of sentences, and from sentences of
labelled answers and a few words of each, which state something, as do the statements of `written`.
Prints what five folds find, each of lines that taught nothing, and what is found in written answers
and statements that taught nothing: by language and kind the share that is found, and the share of
statements taken for it, with 95 % intervals by a bootstrap over lines. `--write` writes the weights
of all lines into `rag_monitor/language/sentence_kinds.bin`. Of `sentence_kinds/held_out.jsonl`,
sentences by another author who had not seen the lines, it prints what answers are taken apart into
by the weights in the package.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from benchmarks.embedded_judge import sets, written
from rag_monitor.language import answers, refusals, sentence_kinds
from rag_monitor.language.claims import take_apart
from rag_monitor.language.normalise import fold
from rag_monitor.language.refusal_patterns import HAN_NOT_MINE, HAN_SILENT, NOT_MINE, SILENT
from rag_monitor.language.script import has_han
from rag_monitor.language.sentence_kinds import BUCKETS, FILE, KINDS, SCALE, features
from rag_monitor.language.sentences import split_sentences
from rag_monitor.statistics.wilson import wilson_interval

TEXTS: Final = Path(__file__).parent / "sentence_kinds"
TARGET: Final = Path(sentence_kinds.__file__).parent / FILE
LANGUAGES: Final = ("en", "zh")
CORPORA: Final = (
    ("expertqa_claims", "en", 1500),
    ("clapnq_dev", "en", 400),
    ("halueval_qa_first1000", "en", 500),
    ("wice_train", "en", 300),
    ("uhgeval_zh", "zh", 2500),
)
"""Files that may teach, and how many of their sentences do."""
DRAWS: Final = 25
"""Sentences made of each line."""
INVERSE_RIDGE: Final = 30.0
"""scikit-learn's `C`: a thirtieth of it finds a fourth less; three times as much finds as much and
takes more statements."""
_OF_CORPORA: Final = 0.1
"""What a sentence of a corpus counts beside a line's, which counts as much as `DRAWS` / 4."""
_THRESHOLDS: Final = (
    ("refusal", refusals.REFUSAL_FROM),
    ("courtesy", answers.COURTESY_FROM),
)
_LABELLED: Final = frozenset(
    {"frame", "paraphrase", "copy", "addition", "number", "mixing", "arithmetic", "conclusion"}
)
"""Kinds of sentences in `rag_answers` that are courtesies or statements, not talk of passages."""
HELD_OUT: Final = TEXTS / "held_out.jsonl"
_SLOT: Final = re.compile(r"<(\w+)>")
_CHOICE: Final = re.compile(r"\{([^{}]*)\}")
_DEPTH: Final = 4
_RESAMPLES: Final = 1000


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence that teaches."""

    folded: str
    kind: int
    """Of `KINDS`."""
    language: str
    line: str
    """What it was made of: the unit of folds and of the bootstrap."""
    weight: float


def patterned(language: str, draw: random.Random) -> list[Sentence]:
    """Sentences made of the lines of a language."""
    slots: dict[str, list[str]] = {}
    kind = 0
    found: list[Sentence] = []
    for line in (TEXTS / f"{language}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("@"):
            name, _, values = line[1:].partition(" = ")
            slots[name] = values.split("|")
        elif line.startswith("# "):
            kind = KINDS.index(line[2:])
        elif line:
            made = sorted({fold(_made(line, slots, draw)) for _ in range(DRAWS)})
            weight = DRAWS / 4 / len(made)
            found += [Sentence(one, kind, language, line, weight) for one in made]
    return found


def _made(line: str, slots: Mapping[str, Sequence[str]], draw: random.Random) -> str:
    for _ in range(_DEPTH):
        line = _CHOICE.sub(lambda found: draw.choice(found[1].split("|")), line)
        line = _SLOT.sub(lambda found: draw.choice(slots[found[1]]), line)
    return " ".join(line.split())


def stated(folder: Path, draw: random.Random) -> list[Sentence]:
    """Sentences of labelled answers but those that decline outright, ask or announce."""
    found: list[Sentence] = []
    for name, language, wanted in CORPORA:
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        draw.shuffle(rows)
        spans = [span for row in rows for span in split_sentences(row.get("answer") or "")[:3]]
        texts = [fold(span.text) for span in spans if _states(span.text)]
        found += [
            Sentence(one, KINDS.index("claim"), language, text, _OF_CORPORA)
            for text in texts[:wanted]
            for one in (text, _fragment(text, draw))
        ]
    return found


def answered(*, once: bool) -> list[Sentence]:
    """Whole sentences of `rag_answers`, which are labelled as frames or statements.

    Args:
        once: Those of the part that is scored once a release and teaches nothing instead.
    """
    found: list[Sentence] = []
    for row in sets.rag_answers():
        if row.once is not once:
            continue
        for start, end, label, kind in row.sentences:
            text = row.answer[start:end].strip()
            if kind not in _LABELLED or len(split_sentences(text)) != 1 or not _states(text):
                continue
            of = KINDS.index("courtesy" if label == "none" else "claim")
            weight = 1.0 if label == "none" else _OF_CORPORA
            found.append(Sentence(fold(text), of, row.language, fold(text), weight))
    return found


def told(*, held_out: bool) -> list[Sentence]:
    """Written statements, each of which states something."""
    texts = sorted({one.text for one in written.statements() if one.held_out is held_out})
    return [
        Sentence(fold(text), KINDS.index("claim"), LANGUAGES[has_han(text)], text, _OF_CORPORA)
        for text in texts
    ]


def _fragment(text: str, draw: random.Random) -> str:
    """A few words of a sentence: a name or a number may be the whole answer."""
    words = text.split() if text.isascii() else list(text)
    size = draw.randint(1, 5)
    start = draw.randrange(max(1, len(words) - size + 1))
    return (" " if text.isascii() else "").join(words[start : start + size])


def _states(text: str) -> bool:
    folded = fold(text)
    outright = (SILENT, NOT_MINE) if folded.isascii() else (HAN_SILENT, HAN_NOT_MINE)
    return not (
        len(folded) <= 8
        or any(pattern.found(folded) for pattern in outright)
        or answers.is_lead_in(text)
        or answers.is_question(text)
    )


def matrix(sentences: Sequence[Sentence]) -> csr_matrix:
    """A row of unit length for each sentence."""
    rows = [sorted(features(one.folded)) for one in sentences]
    sizes = np.array([len(row) for row in rows])
    return csr_matrix(
        (
            np.repeat(1 / np.sqrt(sizes), sizes),
            np.concatenate(rows),
            np.concatenate([[0], np.cumsum(sizes)]),
        ),
        shape=(len(rows), BUCKETS),
    )


def importance(sentences: Sequence[Sentence]) -> Any:
    """Weights by which every kind counts alike."""
    kinds = np.array([one.kind for one in sentences])
    weights = np.array([one.weight for one in sentences])
    totals = np.array([weights[kinds == kind].sum() for kind in range(len(KINDS))])
    return weights / totals[kinds] * len(sentences) / len(KINDS)


def fit(rows: Any, kinds: Any, weights: Any) -> LogisticRegression:
    """The weights that these sentences teach."""
    return LogisticRegression(C=INVERSE_RIDGE, max_iter=500).fit(rows, kinds, sample_weight=weights)


def measured(sentences: Sequence[Sentence], probabilities: Any) -> dict[str, Any]:
    """By language and kind, what is found above the thresholds in use."""
    found: dict[str, Any] = {}
    for language in LANGUAGES:
        for kind, least in _THRESHOLDS:
            taken = probabilities[:, KINDS.index(kind)] > least
            found[f"{language} {kind}"] = {
                what: _share(sentences, taken, language, of)
                for what, of in (("found", KINDS.index(kind)), ("statements_taken_for_it", 0))
                if any(one.language == language and one.kind == of for one in sentences)
            }
    return found


def _share(sentences: Sequence[Sentence], taken: Any, language: str, kind: int) -> dict[str, Any]:
    by_line: dict[str, list[float]] = {}
    for one, hit in zip(sentences, taken, strict=True):
        if one.language == language and one.kind == kind:
            sums = by_line.setdefault(one.line, [0.0, 0.0])
            sums[0] += one.weight * hit
            sums[1] += one.weight
    sums = np.array(list(by_line.values()))
    draw = np.random.default_rng(1)
    draws = sums[draw.integers(len(sums), size=(_RESAMPLES, len(sums)))].sum(axis=1)
    low, high = np.quantile(draws[:, 0] / draws[:, 1], (0.025, 0.975))
    share = sums[:, 0].sum() / sums[:, 1].sum()
    return {
        "share": round(share, 4),
        "interval": [round(low, 4), round(high, 4)],
        "lines": len(sums),
    }


def held_out() -> dict[str, Any]:
    """By language and written kind, how many sentences are taken for what, and the share right."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    with HELD_OUT.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            found[f"{row['lang']} {row['kind']}"][_taken_for(row["text"])] += 1
    report = {}
    for name, counts in found.items():
        right = counts[name.partition(" ")[2]]
        bounds = wilson_interval(right, counts.total())
        report[name] = {
            "taken_for": dict(counts),
            "right": round(right / counts.total(), 3),
            "interval": [round(bounds.lower, 3), round(bounds.upper, 3)],
        }
    return report


def _taken_for(text: str) -> str:
    parts = take_apart(text)
    return "claim" if parts.claims else "refusal" if parts.refusals else "courtesy"


def main() -> None:
    """Print the report; write the weights if told to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    draw = random.Random(1)
    sentences = [one for language in LANGUAGES for one in patterned(language, draw)]
    sentences += [*stated(options.folder, draw), *answered(once=False), *told(held_out=False)]
    rows, weights = matrix(sentences), importance(sentences)
    kinds = np.array([one.kind for one in sentences])
    lines = np.unique([one.line for one in sentences], return_inverse=True)[1]
    probabilities = np.zeros((len(sentences), len(KINDS)))
    for train, test in GroupKFold(5).split(rows, kinds, lines):
        model = fit(rows[train], kinds[train], weights[train])
        probabilities[test] = model.predict_proba(rows[test])
    model = fit(rows, kinds, weights)
    if options.write:
        numbers = np.concatenate([model.intercept_, model.coef_.ravel()]) / SCALE
        TARGET.write_bytes(np.rint(numbers).astype("<i2").tobytes())
    unread = [*answered(once=True), *told(held_out=True)]
    report = {
        "date": datetime.now(UTC).date().isoformat(),
        "cpus": os.cpu_count(),
        "sentences": len(sentences),
        "folds": measured(sentences, probabilities),
        "held_out": held_out(),
        "sentences_that_taught_nothing": measured(unread, model.predict_proba(matrix(unread))),
    }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
