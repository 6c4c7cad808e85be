"""Pairs of a claim and its packed evidence, to fine-tune an encoder on.

Only permissively licensed rows, sentences made from them, and what was written for the project.
WiCE dev is left out altogether, of every other corpus one source in four, of the written premises
one in eight: what the encoder adds is measured, and the combination with the other features
learnt, on rows it never saw.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.embedded_judge.corpora import EVERYDAY_SEEN, Row, all_rows, load
from benchmarks.embedded_judge.perturb import perturb
from benchmarks.embedded_judge.written import statements
from rag_monitor.judges.embedded.evidence import Evidence
from rag_monitor.judges.embedded.packing import reading
from rag_monitor.judges.embedded.pieces import Piece
from rag_monitor.language.claims import take_apart
from rag_monitor.language.script import has_han
from rag_monitor.language.sentences import split_sentences

UNSEEN = frozenset({*EVERYDAY_SEEN, "wice", "wice_oracle", "wice_withheld"})
"""Corpora no encoder is trained on."""
SHARES = {
    "wice_train": 1.0, "expertqa": 1.0, "clapnq": 1.0, "clapnq_withheld": 1.0, "halueval": 0.5,
    "uhgeval_keyword": 0.4, "made_zh": 1.0, "made_zh_withheld": 0.5,
    "made_zh_number": 1.0, "made_zh_name": 1.0, "made_zh_unit": 1.0, "made_zh_negation": 1.0,
    "made_zh_opposite": 1.0,
}  # fmt: skip
"""Corpora of whole rows whose claims all carry the row's label, and which share is taken."""
OWN_BESIDE_CHINESE = 0.5
"""Share of the changed English sentences that an encoder for both languages learns from."""
SENTENCES = 4
"""Sentences of one row that changed twins are made of."""
_NUMBER = re.compile(r"\b\d[\d,.]*\b")
_NAME = re.compile(r"\b[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})*\b")
_BREAK = re.compile(r", | and | but | which | who | that ")


@dataclass(frozen=True, slots=True)
class Pair:
    """A claim, the evidence packed for it, and whether that supports it."""

    corpus: str
    group: str
    claim: str
    evidence: str
    supported: bool
    prior: float = 0.0
    """Log-odds of doubt by the words of the claim alone, which the encoder need not learn."""


def pairs_of(row: Row) -> Iterator[Pair]:
    """Every claim of a row with its packed evidence; all take the row's label."""
    evidence = Evidence.build(row.contexts, row.question)
    for span in take_apart(row.answer).claims:
        claim, text = reading(Piece(span.text), evidence)
        yield Pair(row.corpus, row.group, claim, text, row.supported)


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
    from benchmarks.embedded_judge.train import fold_of

    return fold_of(group) == 3


def training_pairs(folder: Path, *, chinese: bool) -> list[Pair]:
    """All pairs an encoder is trained on, in a fixed order.

    An English one takes English rows alone; one for both languages also what was written.
    """
    draw = random.Random(29)
    rows = [
        row
        for row in [*all_rows(folder), *changed_sentences(folder)]
        if row.corpus not in UNSEEN
        and not held_out(row.group)
        and (chinese or not has_han(row.answer))
        and _taken(row.corpus, draw, chinese=chinese)
    ]
    found = [pair for row in rows for pair in pairs_of(row)]
    if chinese:
        found += written_pairs()
    draw.shuffle(found)
    return found


def _taken(corpus: str, draw: random.Random, *, chinese: bool) -> bool:
    if corpus.startswith("own_"):
        return not chinese or draw.random() < OWN_BESIDE_CHINESE
    return draw.random() < SHARES.get(corpus, 0.0)


def written_pairs() -> list[Pair]:
    """What was written for the project, with what a statement alone gives away as its prior.

    Whoever writes statements that follow chooses other words than for those that do not. A product
    of experts (Clark et al., 2019): the encoder's log-odds are added to the prior while it learns,
    so that it has nothing to gain from what the statement alone says.
    """
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold, cross_val_predict

    said = [found for found in statements() if not found.held_out]
    labels = [not found.supported for found in said]
    letters = CountVectorizer(analyzer="char", ngram_range=(1, 3), min_df=3, binary=True)
    odds = cross_val_predict(
        LogisticRegression(C=0.05, max_iter=500),
        letters.fit_transform([found.text for found in said]),
        labels,
        groups=[found.premise for found in said],
        cv=GroupKFold(5),
        method="decision_function",
    )
    return [
        Pair(f"written_{s.genre}", s.premise, s.text, s.premise, s.supported, round(float(o), 3))
        for s, o in zip(said, odds, strict=True)
    ]
