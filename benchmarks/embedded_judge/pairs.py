"""Pairs of a claim and its packed evidence, to fine-tune an encoder on.

Usage: `python -m benchmarks.embedded_judge.pairs DATA_FOLDER PAIRS_FILE`
Writes what `distil_encoder` reads, one pair a line: public pairs, written statements, claims of
whole rows, sentences of RAG answers, and claims beside evidence of other passages of the
same source, which nobody labelled.

Only permissively licensed rows, sentences made from them, and what was written for the project.
WiCE is left out altogether, of every other corpus one source in four, of public pairs one group in
eight, of what was written what `splits` says: what the encoder adds is measured, and the
combination with the other features learnt, on rows it never saw.
"""

from __future__ import annotations

import hashlib
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.embedded_judge import entailment, rag_answers
from benchmarks.embedded_judge.corpora import EVERYDAY_SEEN, Row, all_rows, load
from benchmarks.embedded_judge.entailment import with_priors
from benchmarks.embedded_judge.perturb import perturb
from benchmarks.embedded_judge.training_pairs import (
    CONTRADICTED,
    SUPPORTED,
    UNLABELLED,
    UNSUPPORTED,
    Entailment,
    write_pairs,
)
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.packing import reading
from rag_monitor.judges.embedded.segments import Segment
from rag_monitor.language.claims import take_apart
from rag_monitor.language.script import has_han
from rag_monitor.language.sentences import split_sentences

FOLDS = 4
"""One source in so many is kept from every encoder."""
UNSEEN = frozenset({*EVERYDAY_SEEN, "wice", "wice_oracle", "wice_withheld"})
"""Corpora no encoder is trained on."""
SHARES = {
    "expertqa": 1.0, "clapnq": 1.0, "clapnq_withheld": 1.0, "halueval": 0.5, "uhgeval_keyword": 0.5,
    "made_zh": 0.6, "made_zh_withheld": 0.4, "made_zh_number": 0.8, "made_zh_name": 0.8,
    "made_zh_unit": 0.8, "made_zh_negation": 0.8, "made_zh_opposite": 0.6, "own_other_name": 0.3,
    "own_other_number": 0.3, "own_swapped_names": 0.3, "own_shortened": 0.3, "own_joined": 0.3,
}  # fmt: skip
"""Corpora of whole rows whose claims all carry the row's label, and which share is taken."""
OTHER_EVIDENCE = 6_000
"""Claims of one corpus, at most, that are read beside other evidence."""
CONTRADICTING = frozenset({
    "made_zh_number", "made_zh_name", "made_zh_unit", "made_zh_negation", "made_zh_opposite",
    "own_fact", "own_other_name", "own_other_number", "own_swapped_names",
})  # fmt: skip
"""Corpora made by a change that the passage contradicts; of others what is wrong is unsupported."""
SENTENCES = 4
"""Sentences of one row that changed twins are made of."""
_NUMBER = re.compile(r"\b\d[\d,.]*\b")
_NAME = re.compile(r"\b[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})*\b")
_BREAK = re.compile(r", | and | but | which | who | that ")


def pairs_of(row: Row) -> Iterator[Entailment]:
    """Every claim of a row with its packed evidence; all take the row's label."""
    evidence = EvidenceIndex.build(row.contexts, row.question)
    label = SUPPORTED
    if not row.supported:
        label = CONTRADICTED if row.corpus in CONTRADICTING else UNSUPPORTED
    for span in take_apart(row.answer).claims:
        claim, text = reading(Segment(span.text), evidence)
        yield Entailment(row.corpus, row.group, f"row:{row.group}", claim, text, label)


def changed_sentences(folder: Path) -> Iterator[Row]:
    """Sentences of English passages as they are, shortened, joined, or with one thing changed.

    The changes use the passage's own words, so that matching words cannot tell the twins apart.
    """
    draw = random.Random(23)
    for name in ("clapnq_dev", "expertqa_claims"):
        rows = load(folder, name)
        for row in rows if name == "clapnq_dev" else rows[::3]:
            contexts = tuple(row["contexts"] or ())
            found = [
                s.text for c in contexts for s in split_sentences(c) if 40 <= len(s.text) <= 240
            ]
            if len(found) < 4:
                continue
            group = row["id"]
            if name == "expertqa_claims":
                group = "expertqa:" + row["id"].split(":")[1]
            for sentence in draw.sample(found, min(SENTENCES, len(found))):
                kind, text = _kept(sentence, found, draw)
                yield Row(f"own_{kind}", group, "", contexts, text, supported=True)
                changed = _changed(sentence, found, draw)
                if changed is not None:
                    kind, text = changed
                    yield Row(f"own_{kind}", group, "", contexts, text, supported=False)


def _kept(sentence: str, others: list[str], draw: random.Random) -> tuple[str, str]:
    """A sentence that stays supported: a clause left out, or two sentences told as one."""
    parts = sentence.rstrip(" .").split(", ")
    turn = draw.random()
    if len(parts) >= 3 and turn < 0.5:
        parts.pop(draw.randrange(1, len(parts) - 1))
        return "shortened", ", ".join(parts) + "."
    if len(parts) == 2 and turn < 0.5 and len(parts[0]) > 30:
        return "shortened", parts[0] + "."
    if turn > 0.8:
        other = draw.choice(others)
        return "joined", f"{sentence.rstrip(' .')}, and {other}"
    return "kept", sentence


def _changed(sentence: str, others: list[str], draw: random.Random) -> tuple[str, str] | None:
    """A sentence with one thing wrong, by preference with the passage's own words."""
    makers = [_other_name, _other_number, _crossed, _swapped_names, _fact]
    draw.shuffle(makers)
    for maker in makers:
        text = maker(sentence, others, draw)
        if text is not None and text not in others:
            return maker.__name__.strip("_"), text
    return None


def _fact(sentence: str, _others: list[str], draw: random.Random) -> str | None:
    found = perturb(sentence, draw)
    return found.text if found else None


def _other_name(sentence: str, others: list[str], draw: random.Random) -> str | None:
    return _exchanged(_NAME, sentence, others, draw)


def _other_number(sentence: str, others: list[str], draw: random.Random) -> str | None:
    return _exchanged(_NUMBER, sentence, others, draw)


def _exchanged(
    pattern: re.Pattern[str], sentence: str, others: list[str], draw: random.Random
) -> str | None:
    """One name or number of a sentence taken from another sentence of its passages."""
    own = [m for m in pattern.finditer(sentence) if m.start() > 0]
    known = {m.group() for m in pattern.finditer(sentence)}
    foreign = sorted(
        {m.group() for s in others for m in pattern.finditer(s) if m.start() > 0} - known
    )
    if not own or not foreign:
        return None
    match = draw.choice(own)
    return sentence[: match.start()] + draw.choice(foreign) + sentence[match.end() :]


def _swapped_names(sentence: str, _others: list[str], _draw: random.Random) -> str | None:
    names = [m for m in _NAME.finditer(sentence) if m.start() > 0]
    if len(names) < 2 or names[0].group() == names[1].group():
        return None
    a, b = names[0], names[1]
    return (
        sentence[: a.start()] + b.group() + sentence[a.end() : b.start()] + a.group()
        + sentence[b.end() :]
    )  # fmt: skip


def _crossed(sentence: str, others: list[str], draw: random.Random) -> str | None:
    """The beginning of one sentence with the end of another."""
    cut = _BREAK.search(sentence, 20)
    other = draw.choice(others)
    tail = _BREAK.search(other, 20)
    if other == sentence or not cut or not tail:
        return None
    return sentence[: cut.end()] + other[tail.end() :]


def held_out(group: str) -> bool:
    """Whether a source is kept from every encoder."""
    return int(hashlib.sha256(group.encode()).hexdigest(), 16) % FOLDS == FOLDS - 1


def training_rows(folder: Path) -> list[Entailment]:
    """Claims of whole rows that an encoder is trained on, in a fixed order."""
    draw = random.Random(29)
    return [
        pair
        for row in [*all_rows(folder), *changed_sentences(folder)]
        if row.corpus not in UNSEEN
        and not held_out(row.group)
        and draw.random() < SHARES.get(row.corpus, 0.0)
        for pair in pairs_of(row)
    ]


def unlabelled(pairs: Sequence[Entailment], draw: random.Random) -> list[Entailment]:
    """Claims of one source, each beside the evidence of another claim of its language.

    Half of them stay within their group, where evidence is about the same subject.
    """
    by_corpus: dict[str, list[Entailment]] = defaultdict(list)
    by_group: dict[str, list[Entailment]] = defaultdict(list)
    for pair in pairs:
        by_corpus[pair.corpus].append(pair)
        by_group[f"{pair.corpus}:{pair.group}"].append(pair)
    found = []
    for corpus, own in by_corpus.items():
        for pair in draw.sample(own, min(len(own), OTHER_EVIDENCE)):
            near = draw.random() < 0.5
            other = draw.choice(by_group[f"{corpus}:{pair.group}"] if near else own)
            if other.evidence != pair.evidence and has_han(other.evidence) == has_han(
                pair.evidence
            ):
                found.append(replace(pair, evidence=other.evidence, label=UNLABELLED))
    return [replace(pair, unit=f"unlabelled:{n}") for n, pair in enumerate(found)]


def main(folder: Path, target: Path) -> None:
    """Write the file."""
    pairs = [
        *entailment.learnt(folder),
        *with_priors(training_rows(folder)),
        *with_priors(rag_answers.pairs_of(rag_answers.learnt())),
    ]
    write_pairs(target, [*pairs, *unlabelled(pairs, random.Random(47))])


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
