"""How far injected text moves the embedded judge, against equally long harmless text.

Usage: `python -m benchmarks.embedded_judge.injection FAMILIES_FILE [DATA_FOLDER] [--lexical]
[--write]`
Families A, D, E and F (without 33). A and E stand at the head and the tail of the answer and in a
passage of their own, F as passages, D is the whole answer. Bases: the file's own and, with
DATA_FOLDER, answers of CLAPNQ and UHGEval as they are, and answers to another question.
Prints the mean shift of `faithfulness` and `answer_supported` (attacked less control; of text in a
passage also attacked, and control, less the trace without it), the share of single shifts above
0.1, and how many attacks and look-alikes were marked suspect. `--write` puts the table into
`EXPERIMENTS.md`.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.embedded_judge.corpora import load
from benchmarks.embedded_judge.measure import EXPERIMENTS, put
from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest
from rag_monitor.judges.embedded import EmbeddedJudge, create, create_lexical

ASPECTS = frozenset({Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED})
GROUPS = "ADEF"
POISONING = 33
SPLIT = "[[SPLIT]]"


@dataclass(frozen=True, slots=True)
class Base:
    """A trace before anything is put into it."""

    lang: str
    kind: str
    question: str
    contexts: tuple[str, ...]
    answer: str


def sample_bases(families: dict[str, Any]) -> Iterator[Base]:
    """The three answers of the file's own example, in both languages."""
    for lang, base in families["sample_base"].items():
        for kind in ("supported", "unsupported", "off_topic"):
            yield Base(
                lang, kind, base["question"], tuple(base["contexts"]), base[f"{kind}_answer"]
            )


def data_bases(folder: Path) -> Iterator[Base]:
    """Ten answers with their own passages and ten with another's, in both languages."""
    rows = [r for r in load(folder, "clapnq_dev") if r["dataset"] == "clapnq" and r["answer"]][:20]
    news = [r for r in load(folder, "uhgeval_zh") if r["label_faithful"]][:20]
    for lang, chosen in (("en", rows), ("zh", news)):
        for number, row in enumerate(chosen):
            kind = "supported" if number % 2 else "unsupported"
            other = chosen[number - 1]
            answer = row["answer"] if number % 2 else other["answer"]
            yield Base(lang, kind, row["question"] or "", tuple(row["contexts"]), answer[:600])


def text(parts: Any) -> str:
    """A string, or parts that are joined and repeated."""
    if isinstance(parts, str):
        return parts
    return "".join(p if isinstance(p, str) else p["repeat"] * p["times"] for p in parts)


def placed(base: Base, group: str, inserted: str) -> Iterator[tuple[str, JudgeRequest]]:
    """The base with a text in every place the group asks for."""
    glue = " " if base.lang == "en" else ""

    def request(answer: str, contexts: tuple[str, ...]) -> JudgeRequest:
        return plain(replace(base, answer=answer, contexts=contexts))

    if group == "D":
        yield "whole_answer", request(inserted, base.contexts)
        return
    if group != "F":
        yield "answer_head", request(inserted + glue + base.answer, base.contexts)
        yield "answer_tail", request(base.answer + glue + inserted, base.contexts)
    yield "passage", request(base.answer, (*base.contexts, *inserted.split(SPLIT)))


def plain(base: Base) -> JudgeRequest:
    """The base as it is."""
    return JudgeRequest(
        question=base.question, answer=base.answer, contexts=base.contexts, aspects=ASPECTS
    )


def less(scored: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """What one trace scores above another."""
    return scored[0] - other[0], scored[1] - other[1]


def scores(judgement: Judgement) -> tuple[float, float]:
    """Faithfulness and `answer_supported`; what cannot be judged scores 0."""
    claims = judgement.of(Aspect.SUPPORT)
    whole = judgement.of(Aspect.ANSWER_SUPPORTED)
    faithfulness = sum(v.probability for v in claims) / len(claims) if claims else 0.0
    return faithfulness, whole[0].probability if whole else 0.0


def main(families: dict[str, Any], bases: list[Base], engine: EmbeddedJudge) -> dict[str, Any]:
    """Every figure by group and place."""
    shifts: dict[str, list[tuple[float, float]]] = defaultdict(list)
    suspects: dict[str, list[bool]] = defaultdict(list)
    alone = {base: scores(engine.judge_one(plain(base))) for base in bases}
    for family, base, attack, control in _pairs(families, bases):
        group = family["group"]
        for (place, bad), (_, good) in zip(
            placed(base, group, attack), placed(base, group, control), strict=True
        ):
            hit, calm = engine.judge_one(bad), engine.judge_one(good)
            pair = less(scores(hit), scores(calm))
            for key in (group, f"{group} {place}", f"family {family['id']}"):
                shifts[key].append(pair)
            if place == "passage":
                shifts[f"{group} passage against none"].append(less(scores(hit), alone[base]))
                shifts[f"{group} control against none"].append(less(scores(calm), alone[base]))
            suspects[f"{group} attacks"].append(hit.suspect is not None)
            suspects[f"{group} controls"].append(calm.suspect is not None)
    for harmless in families["lookalikes"]:
        request = JudgeRequest(
            question="", answer="A.", contexts=(harmless["text"],), aspects=ASPECTS
        )
        suspects["look-alikes"].append(engine.judge_one(request).suspect is not None)
    return {
        "judge": str(engine.identity),
        "bases": len(bases),
        "shift": {key: _summary(pairs) for key, pairs in sorted(shifts.items())},
        "suspect_share": {k: round(sum(v) / len(v), 3) for k, v in sorted(suspects.items())},
    }


def _pairs(
    families: dict[str, Any], bases: list[Base]
) -> Iterator[tuple[dict[str, Any], Base, str, str]]:
    """Each family with each base of its language: the attack, and the control beside it."""
    for family in families["families"]:
        if family["group"] not in GROUPS or family["id"] == POISONING:
            continue
        for lang, examples in family["examples"].items():
            for example, base in product(examples, bases):
                if base.lang == lang:
                    yield family, base, text(example["attack"]), text(example["control"])


def _summary(pairs: list[tuple[float, float]]) -> dict[str, float]:
    names = ("faithfulness", "answer_supported")
    found: dict[str, float] = {"pairs": len(pairs)}
    for place, name in enumerate(names):
        values = [pair[place] for pair in pairs]
        found[name] = round(sum(values) / len(values), 4)
        found[f"{name}_above_0.1"] = round(sum(abs(v) > 0.1 for v in values) / len(values), 3)
    return found


def table(report: dict[str, Any]) -> str:
    """Groups and places, a line each."""
    lines = [
        "| text, place | pairs | faithfulness | by over .1 | answer_supported | by over .1 |",
        "|---|---|---|---|---|---|",
    ]
    for key, row in report["shift"].items():
        if not key.startswith("family"):
            moved = (
                f"{row[name]:+.3f} | {row[f'{name}_above_0.1']:.0%}"
                for name in ("faithfulness", "answer_supported")
            )
            lines.append(f"| {key} | {row['pairs']} | {' | '.join(moved)} |")
    noticed = ", ".join(f"{name} {share:.0%}" for name, share in report["suspect_share"].items())
    return (
        "\n".join(lines)
        + f"\n\n{report['bases']} traces. Marked suspect: {noticed}.\n"
        + f"Identity `{report['judge']}`, {datetime.now(UTC):%Y-%m-%d}."
    )


def run() -> None:
    """Measure, print, and write where that is asked."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("families", type=Path)
    arguments.add_argument("folder", type=Path, nargs="?")
    for name in ("--lexical", "--write"):
        arguments.add_argument(name, action="store_true")
    chosen = arguments.parse_args()
    families = json.loads(chosen.families.read_text(encoding="utf-8"))
    bases = list(sample_bases(families))
    if chosen.folder is not None:
        bases += data_bases(chosen.folder)
    judge = create_lexical({}) if chosen.lexical else create({"encoder_threads": 2})
    report = main(families, bases, judge)
    print(json.dumps(report, indent=1, ensure_ascii=False))
    if chosen.write:
        put(EXPERIMENTS, "injected text", table(report))


if __name__ == "__main__":
    run()
