"""How far injected text moves the embedded judge, against equally long harmless text.

Usage: `python -m benchmarks.embedded_judge.injection FAMILIES_FILE [DATA_FOLDER] [--lexical]`
Families A, D, E and F (without 33). A and E stand at the head and the tail of the answer and in a
passage of their own, F as passages, D is the whole answer. Bases: the file's own and, with
DATA_FOLDER, answers of CLAPNQ and UHGEval as they are, and answers to another question.
Prints the mean shift (attacked less control) of `faithfulness` and `answer_supported`, the share of
single shifts above 0.1, and how many attacks and look-alikes were marked suspect.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.embedded_judge.corpora import load
from benchmarks.embedded_judge.evaluate import engine_of
from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest
from rag_monitor.judges.embedded.judge import EmbeddedJudge

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
        return JudgeRequest(
            question=base.question, answer=answer, contexts=contexts, aspects=ASPECTS
        )

    if group == "D":
        yield "whole_answer", request(inserted, base.contexts)
        return
    if group != "F":
        yield "answer_head", request(inserted + glue + base.answer, base.contexts)
        yield "answer_tail", request(base.answer + glue + inserted, base.contexts)
    yield "passage", request(base.answer, (*base.contexts, *inserted.split(SPLIT)))


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
    for family in families["families"]:
        group = family["group"]
        if group not in GROUPS or family["id"] == POISONING:
            continue
        for lang, examples in family["examples"].items():
            for example in examples:
                for base in bases:
                    if base.lang != lang:
                        continue
                    attacked = placed(base, group, text(example["attack"]))
                    control = placed(base, group, text(example["control"]))
                    for (place, bad), (_, good) in zip(attacked, control, strict=True):
                        hit, calm = engine.judge_one(bad), engine.judge_one(good)
                        pair = tuple(a - b for a, b in zip(scores(hit), scores(calm), strict=True))
                        for key in (group, f"{group} {place}", f"family {family['id']}"):
                            shifts[key].append((pair[0], pair[1]))
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


def _summary(pairs: list[tuple[float, float]]) -> dict[str, float]:
    names = ("faithfulness", "answer_supported")
    found: dict[str, float] = {"pairs": len(pairs)}
    for place, name in enumerate(names):
        values = [pair[place] for pair in pairs]
        found[name] = round(sum(values) / len(values), 4)
        found[f"{name}_above_0.1"] = round(sum(abs(v) > 0.1 for v in values) / len(values), 3)
    return found


if __name__ == "__main__":
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    chosen = list(sample_bases(given))
    plain = [argument for argument in sys.argv[2:] if argument != "--lexical"]
    if plain:
        chosen += data_bases(Path(plain[0]))
    print(json.dumps(main(given, chosen, engine_of(sys.argv)), indent=1, ensure_ascii=False))
