"""How well the judge tells apart statements that differ in one detail; prints one JSON object.

Usage: `python -m benchmarks.embedded_judge.details [--lexical] [--once]`
1,805 premises such as knowledge bases hold, written for this project (`written_details/`, under its
licence): each with statements it supports, mostly in other words, with statements that add what it
does not say, and with twins of the supported ones that contradict it in one detail: a condition
dropped, another plan's price, at least for at most. Statements are judged alone, without a
question. Without `--once` the part that weights are learnt from, with it the third that is scored
once a release (`PROTOCOL.md`). Intervals: 95 %, bootstrap over premises.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.embedded_judge.evaluate import auroc, engine_of, interval, judge
from benchmarks.embedded_judge.splits import is_once
from benchmarks.embedded_judge.written import Statement, statements
from rag_monitor.domain.judgement import Aspect
from rag_monitor.judges.embedded import EmbeddedJudge

FOLDER: Final = Path(__file__).parent / "written_details"
SUPPORTED, ADDED, CONTRARY = "supported", "added", "contrary"


def kind(said: Statement) -> str:
    """What a statement is to its premise."""
    if said.supported:
        return SUPPORTED
    return CONTRARY if said.contrary else ADDED


def judged(engine: EmbeddedJudge, said: Sequence[Statement]) -> dict[str, Any]:
    """Areas of supported statements against both other kinds, and how many of each are flagged."""
    kinds, doubts, flagged, owners = [], [], [], []
    for one in said:
        row = {"question": "", "answer": one.text, "contexts": [one.premise]}
        found = judge(row, engine)
        for verdict in found.of(Aspect.ANSWER_SUPPORTED):
            kinds.append(kind(one))
            doubts.append(-(verdict.raw or 0.0))
            flagged.append(verdict.probability < found.threshold)
            owners.append(one.premise)
    labels, raw, hard = np.array(kinds), np.array(doubts), np.array(flagged)

    def area(other: str) -> dict[str, Any]:
        places = np.flatnonzero(np.isin(labels, [SUPPORTED, other]))
        positive, doubt = (labels[places] != SUPPORTED).astype(float), raw[places]
        groups = [owners[place] for place in places]
        return {
            "auroc": round(auroc(positive, doubt), 3),
            "interval": interval(groups, lambda i: auroc(positive[i], doubt[i])),
        }

    return {
        "statements": len(labels),
        "against_added": area(ADDED),
        "against_contrary": area(CONTRARY),
        "flagged": {
            name: round(float(hard[labels == name].mean()), 3)
            for name in (SUPPORTED, ADDED, CONTRARY)
        },
    }


def main(engine: EmbeddedJudge, *, once: bool) -> None:
    """Measure every genre and print."""
    by: dict[str, list[Statement]] = defaultdict(list)
    for said in statements(FOLDER):
        if is_once(said.premise) != once:
            continue
        by[said.genre].append(said)
        by["all"].append(said)
    report = {
        "judge": str(engine.identity),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "load_average": round(os.getloadavg()[0], 1),
        "details": {genre: judged(engine, said) for genre, said in by.items()},
    }
    print(json.dumps(report, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main(engine_of(sys.argv), once="--once" in sys.argv)
