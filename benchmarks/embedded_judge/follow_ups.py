"""Whether the embedded judge prefers the right answer to a question that continues a conversation.

Usage: `python -m benchmarks.embedded_judge.follow_ups [--half first|second] [--misses]`

Each set of `tests/fixtures/follow_ups` is a conversation, a follow-up question, a passage, a right
answer and a wrong one, which answers the earlier turn again, ignores what the follow-up changes, or
is about something else. Some have a passage about something else besides, which also stands in for
an answer. A pair counts where the right one scores higher. The two halves were written before the
judge knew of conversations; only the first was looked at while it was built. Intervals are Wilson's
at 95%.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from rag_monitor.domain.conversation import EarlierTurn
from rag_monitor.domain.judgement import Aspect, JudgeRequest
from rag_monitor.domain.trace import Trace
from rag_monitor.evaluation.request import build_request
from rag_monitor.judges.embedded import create_lexical
from rag_monitor.judges.embedded.judge import EmbeddedJudge
from rag_monitor.language.follow_ups import depends_on_history
from rag_monitor.statistics.wilson import wilson_interval
from rag_monitor.testing import make_trace

FOLDER: Final = Path(__file__).parents[2] / "tests" / "fixtures" / "follow_ups"
HALVES: Final = ("first", "second")
ASPECTS: Final = frozenset({Aspect.GRADE, Aspect.RELEVANCE, Aspect.SUFFICIENCY})
GOOD: Final = 0.5
_Row = dict[str, Any]


def sets(half: str) -> list[_Row]:
    """The sets of one half."""
    lines = (FOLDER / f"{half}_half.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def trace_of(row: _Row, answer: str, passage: str) -> Trace:
    """A set as a trace that tells of its earlier turns."""
    trace = make_trace(row["question"], answer, contexts=(passage,), retrievals=())
    return replace(trace, history=tuple(EarlierTurn(**turn) for turn in row["history"]))


class Judged:
    """Scores of one way to judge.

    Args:
        judge: Who judges.
        history: Whether it is given the earlier turns.
    """

    def __init__(self, judge: EmbeddedJudge, *, history: bool) -> None:
        self._judge = judge
        self._history = history

    def scores(self, row: _Row, answer: str, passage: str) -> dict[Aspect, float]:
        """Each aspect of one answer and one passage."""
        request: JudgeRequest = build_request(trace_of(row, answer, passage), ASPECTS)
        if not self._history:
            request = replace(request, history=())
        judgement = self._judge.judge_one(request)
        return {verdict.aspect: verdict.probability for verdict in judgement.verdicts}

    def pairs(self, row: _Row) -> Iterator[tuple[str, bool]]:
        """What is compared in a set, and whether it comes out right."""
        right = self.scores(row, row["right"], row["passage"])
        wrong = self.scores(row, row["wrong"], row["passage"])[Aspect.GRADE]
        yield "answer", right[Aspect.GRADE] > wrong
        yield "answer parted at 0.5", right[Aspect.GRADE] >= GOOD > wrong
        if "wrong_passage" in row:
            other = self.scores(row, row["right"], row["wrong_passage"])
            beside = self.scores(row, row["wrong_passage"], row["passage"])[Aspect.GRADE]
            yield "answer on another subject", right[Aspect.GRADE] > beside
            yield "context relevance", right[Aspect.RELEVANCE] > other[Aspect.RELEVANCE]
            yield "context sufficiency", right[Aspect.SUFFICIENCY] > other[Aspect.SUFFICIENCY]


def _line(what: str, outcomes: list[bool]) -> str:
    right, total = sum(outcomes), len(outcomes)
    interval = wilson_interval(right, total)
    share = f"{right}/{total}"
    return (
        f"  {what:<28}{share:>7}  {right / total:.2f}  [{interval.lower:.2f}, {interval.upper:.2f}]"
    )


def report(half: str, judge: EmbeddedJudge, *, misses: bool) -> str:
    """The figures of one half, with and without the earlier turns."""
    rows = sets(half)
    lines = [f"{half} half"]
    lines.append(
        _line("recognised as dependent", [depends_on_history(r["question"]) for r in rows])
    )
    for history in (False, True):
        judged = Judged(judge, history=history)
        lines.append(f" {'with' if history else 'without'} the earlier turns")
        found: dict[str, list[bool]] = {}
        for row in rows:
            for what, outcome in judged.pairs(row):
                found.setdefault(what, []).append(outcome)
                if what == "answer":
                    found.setdefault(f"answer, {row['language']}", []).append(outcome)
                if misses and history and not outcome:
                    lines.append(f"    missed: {row['id']} {what}: {row['question']}")
        lines += [_line(what, found[what]) for what in sorted(found)]
    return "\n".join(lines)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=HALVES, help="only this one")
    parser.add_argument("--misses", action="store_true", help="name the pairs that come out wrong")
    options = parser.parse_args()
    judge = create_lexical({})
    for half in HALVES if options.half is None else (options.half,):
        print(report(half, judge, misses=options.misses))


if __name__ == "__main__":
    main()
