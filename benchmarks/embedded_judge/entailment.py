"""Statements beside premises in three classes: what one wrong detail and missing support look like.

Reads `nli/*.jsonl.gz` of the data folder (public pairs, see its README), `written/` and
`written_details/`. Premises that are longer than what the judge reads beside a statement are cut
to the sentences that the judge would choose, now and then among those of other premises.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from benchmarks.embedded_judge import splits
from benchmarks.embedded_judge.training_pairs import (
    CONTRADICTED,
    LABELS,
    SUPPORTED,
    UNSUPPORTED,
    Entailment,
)
from benchmarks.embedded_judge.written import Statement, statements
from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.packing import joined, reading, units
from rag_monitor.judges.embedded.segments import Segment
from rag_monitor.language.normalise import to_simplified

DETAILS: Final = Path(__file__).parent / "written_details"
ALL: Final = 99_999
TAKEN: Final = {
    "begin_cmu": 0, "snli_dev": 0, "fever_adversarial": 0,
    "conjnli_auto": 3_000, "begin_wow": 1_500, "breaking_nli": 2_400,
}  # fmt: skip
"""Most statements of sources whose statements alone give the label away; of others all are
taken."""
HELD_OUT: Final = 8
"""One page, article or query of so many is kept from every encoder (`fool_me_twice`: of four)."""
WHOLE_UNITS: Final = 420
"""Premises of so many letters, a Han character counting four, are read whole."""
UNIT: Final = 4
"""Statements about the same premises that stay together in a batch."""
TRIPLE: Final = 3
"""Of a written premise: a supported statement, the contrary one most like it, and one it leaves
open."""
UNBIASED: Final = frozenset({
    "vitaminc_real", "vitaminc_synthetic", "fever_symmetric", "fool_me_twice", "bump",
    "snli_counterfactual", "summedits_podcast", "summedits_news",
})  # fmt: skip
"""Sources whose statements alone give away next to nothing (`nli/README.md`)."""
DISTRACTED: Final = 0.3
"""Share of the written statements whose evidence is chosen among other premises too."""


def beside(claim: str, contexts: Sequence[str], question: str = "") -> tuple[str, str]:
    """Claim and evidence: everything where it is short, else what the judge would choose."""
    if sum(map(units, contexts)) <= WHOLE_UNITS and not question:
        return to_simplified(claim), to_simplified(joined(contexts))
    return reading(Segment(claim), EvidenceIndex.build(contexts, question))


def is_held_out(source: str, group: str) -> bool:
    """Whether no encoder learns from a group of public pairs."""
    share = 4 if source == "fool_me_twice" else HELD_OUT
    return int(hashlib.sha256(group.encode()).hexdigest(), 16) % share == 0


def public(folder: Path) -> Iterator[dict[str, Any]]:
    """Every public pair."""
    for path in sorted((folder / "nli").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def public_pairs(
    folder: Path, *, held_out: bool, most: Mapping[str, int], others: int = 0
) -> list[Entailment]:
    """Public pairs, of every source at most so many, in units of neighbouring rows of a group."""
    by: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in public(folder):
        source, group = row["source"], row["group"]
        if most.get(source, others) and is_held_out(source, group) == held_out:
            by[source][group].append(row)
    found = []
    draw = random.Random(41)
    for source, groups in by.items():
        blocks = [
            rows[start : start + UNIT]
            for rows in groups.values()
            for start in range(0, len(rows), UNIT)
        ]
        draw.shuffle(blocks)
        taken = 0
        for number, block in enumerate(blocks):
            if taken >= most.get(source, others):
                break
            taken += len(block)
            for row in block:
                claim, evidence = beside(row["statement"], row["premises"], row.get("question", ""))
                unit = f"{source}:{number}"
                label = LABELS[row["label"]]
                found.append(Entailment(source, row["group"], unit, claim, evidence, label))
    return found


def label_of(said: Statement) -> int:
    """The class of a written statement."""
    if said.supported:
        return SUPPORTED
    return CONTRADICTED if said.contrary else UNSUPPORTED


def written_pairs(said: Sequence[Statement], corpus: str, draw: random.Random) -> list[Entailment]:
    """Written statements, each premise's in units that hold both supported and other ones."""
    by: dict[str, list[Statement]] = defaultdict(list)
    premises: dict[str, list[str]] = defaultdict(list)
    for one in said:
        if one.premise not in by:
            premises[one.genre].append(one.premise)
        by[one.premise].append(one)
    found = []
    for premise, about in by.items():
        ordered = _mixed(about)
        for start in range(0, len(ordered), TRIPLE):
            others = []
            if draw.random() < DISTRACTED:
                others = draw.choices(premises[about[0].genre], k=draw.randint(1, 3))
            contexts = list(dict.fromkeys([premise, *others]))
            draw.shuffle(contexts)
            for one in ordered[start : start + TRIPLE]:
                claim, evidence = beside(one.text, contexts)
                unit = f"{corpus}:{start}:{premise}"
                found.append(Entailment(corpus, premise, unit, claim, evidence, label_of(one)))
    return found


def _mixed(about: Sequence[Statement]) -> list[Statement]:
    """Statements of one premise, the classes taking turns, contrary ones behind their twins."""
    supported, contrary, left_open = (
        [one for one in about if label_of(one) == label] for label in range(3)
    )
    found: list[Statement] = []
    while supported or contrary or left_open:
        if supported and contrary:
            twins = max(
                ((s, c) for s in supported for c in contrary),
                key=lambda both: _alike(both[0].text, both[1].text),
            )
            supported.remove(twins[0])
            contrary.remove(twins[1])
            found += twins
        else:
            found += [kept.pop(0) for kept in (supported, contrary) if kept]
        found += [left_open.pop(0)] if left_open else []
    return found


def _alike(one: str, other: str) -> float:
    """Share of the pairs of letters that two statements have in common."""
    first, second = ({a + b for a, b in pairwise(text)} for text in (one, other))
    return len(first & second) / max(1, len(first | second))


def learnt(folder: Path) -> list[Entailment]:
    """Every pair to learn from, with its prior, in the order of the sources."""
    draw = random.Random(43)
    written = [one for one in statements() if not one.held_out]
    details = [
        one
        for one in statements(DETAILS)
        if not splits.is_once(one.premise) and not splits.is_validation(one.premise)
    ]
    return [
        *with_priors(public_pairs(folder, held_out=False, most=TAKEN, others=ALL)),
        *with_priors(written_pairs(written, "written", draw)),
        *with_priors(written_pairs(details, "written_details", draw)),
    ]


def with_priors(pairs: Sequence[Entailment]) -> list[Entailment]:
    """The same pairs with the odds that their claims alone give away, each source on its own.

    A product of experts (Clark et al., 2019): the encoder's logits are added to the prior while it
    learns, so that it has nothing to gain from what the statement alone says.
    """
    import numpy as np
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier
    from sklearn.model_selection import GroupKFold

    words = HashingVectorizer(analyzer="char_wb", ngram_range=(1, 4), n_features=2**17)
    by: dict[str, list[int]] = defaultdict(list)
    for place, pair in enumerate(pairs):
        if pair.corpus not in UNBIASED:
            by[pair.corpus].append(place)
    found = list(pairs)
    for places in by.values():
        labels = np.array([pairs[p].label for p in places])
        groups = [pairs[p].group for p in places]
        known = np.unique(labels)
        if len(known) < 2 or len(set(groups)) < 5:
            continue
        fed = words.transform([pairs[p].claim for p in places])
        odds = np.zeros((len(places), 3))
        for train, test in GroupKFold(4).split(fed, labels, groups):
            said = SGDClassifier(loss="log_loss", alpha=3e-4, max_iter=12, tol=None, random_state=1)
            said.fit(fed[train], labels[train])
            decided = said.decision_function(fed[test])
            if len(said.classes_) == 2:
                decided = np.stack([-decided / 2, decided / 2], axis=1)
            odds[np.ix_(test, said.classes_)] = decided
        odds[:, known] -= odds[:, known].mean(axis=1, keepdims=True)
        for place, row in zip(places, np.clip(odds, -3, 3), strict=True):
            a, b, c = (round(float(v), 2) for v in row)
            found[place] = replace(pairs[place], prior=(a, b, c))
    return found
