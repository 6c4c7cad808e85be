"""Figures of the embedded judge on every set, as a table for the model card.

Usage: `python -m benchmarks.embedded_judge.measure DATA_FOLDER [--lexical] [--once] [--write]`
Positive = unsupported. `--once` scores the sets that are scored once a release, and adds a line to
the log of `PROTOCOL.md`. `--write` puts the table into `docs/model-card.md` (those sets) or
`EXPERIMENTS.md` (by words alone, and sets that were looked at). Beside the judge: the share of an
answer's words that stand nowhere in passages and question, and how many they are. Intervals: 95 %,
bootstrap over groups.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.embedded_judge import sets
from benchmarks.embedded_judge.evaluate import auroc, flags, interval
from rag_monitor.domain.judgement import Aspect, JudgeRequest
from rag_monitor.judges.embedded import EmbeddedJudge, create, create_lexical
from rag_monitor.judges.embedded.segments import Segment

ASPECTS: Final = frozenset({Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED})
PROTOCOL: Final = Path(__file__).parent / "PROTOCOL.md"
CARD: Final = Path(__file__).resolve().parents[2] / "docs" / "model-card.md"
EXPERIMENTS: Final = Path(__file__).parent / "EXPERIMENTS.md"
HEAD: Final = (
    "| set | rows / unsupported | AUROC | of `faithfulness` | words nowhere: share, count"
    " | balanced accuracy | right flagged | wrong flagged |\n|---|---|---|---|---|---|---|---|"
)


def strange(row: sets.Row) -> tuple[float, int]:
    """Share and number of the content words of an answer that stand nowhere."""
    known = Segment(row.question).terms.union(*[Segment(context).terms for context in row.contexts])
    said = Segment(row.answer).terms
    return len(said - known) / max(1, len(said)), len(said - known)


def line(name: str, rows: Sequence[sets.Row], judge: EmbeddedJudge) -> str | None:
    """One row of the table; None for a set with labels of one kind."""
    kept: list[tuple[sets.Row, float, float, bool]] = []
    for row in rows:
        request = JudgeRequest(
            question=row.question, answer=row.answer, contexts=row.contexts, aspects=ASPECTS
        )
        found = judge.judge_one(request)
        for whole in found.of(Aspect.ANSWER_SUPPORTED):
            claims = [verdict.probability for verdict in found.of(Aspect.SUPPORT)]
            is_flagged = whole.probability < found.threshold
            kept.append((row, -(whole.raw or 0.0), -sum(claims) / len(claims), is_flagged))
    bad = np.array([not row.supported for row, *_ in kept], float)
    if not 0 < bad.sum() < len(bad):
        return None
    groups = [row.group for row, *_ in kept]
    raw, mean = np.array([k[1] for k in kept]), np.array([k[2] for k in kept])
    flagged = np.array([k[3] for k in kept], float)
    words = np.array([strange(row) for row, *_ in kept])
    low, high = interval(groups, lambda i: auroc(bad[i], raw[i]))
    cells: list[Any] = [
        name,
        f"{len(bad)} / {int(bad.sum())}",
        f"{auroc(bad, raw):.3f} [{low:.3f}, {high:.3f}]",
        f"{auroc(bad, mean):.3f}",
        f"{auroc(bad, words[:, 0]):.3f}, {auroc(bad, words[:, 1]):.3f}",
        f"{flags(bad, flagged)['balanced_accuracy']:.3f}",
        f"{flagged[bad == 0].mean():.0%}",
        f"{flagged[bad > 0].mean():.0%}",
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def table(rows: Sequence[sets.Row], judge: EmbeddedJudge) -> str:
    """The figures of every set."""
    by: dict[str, list[sets.Row]] = defaultdict(list)
    for row in rows:
        by[row.corpus].append(row)
    lines = [line(name, by[name], judge) for name in sorted(by)]
    return "\n".join([HEAD, *filter(None, lines)])


def put(page: Path, name: str, text: str) -> None:
    """Put a table between `<!-- figures: NAME -->` and `<!-- end -->` of a page."""
    start, end = f"<!-- figures: {name} -->", "<!-- end -->"
    head, rest = page.read_text(encoding="utf-8").split(start, 1)
    _, tail = rest.split(end, 1)
    page.write_text(f"{head}{start}\n{text}\n{end}{tail}", encoding="utf-8")


def main() -> None:
    """Measure, print, and write where that is asked."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    for name in ("--lexical", "--once", "--write"):
        arguments.add_argument(name, action="store_true")
    chosen = arguments.parse_args()
    judge = create_lexical({}) if chosen.lexical else create({"encoder_threads": 2})
    if chosen.once:
        rows = sets.once()
    else:
        rows = [*sets.looked_at(chosen.folder), *sets.sampled(chosen.folder, unread=True)]
    found = table(rows, judge)
    dated = f"Identity `{judge.identity}`, {datetime.now(UTC):%Y-%m-%d}."
    text = f"{found}\n\n{dated}"
    print(text)
    if chosen.once:
        with PROTOCOL.open("a", encoding="utf-8") as log:
            log.write(f"- {datetime.now(UTC):%Y-%m-%d %H:%M}: `{judge.identity}`\n")
    if chosen.write:
        name = ("once" if chosen.once else "development") + (" by words" * chosen.lexical)
        put(CARD if chosen.once and not chosen.lexical else EXPERIMENTS, name, text)


if __name__ == "__main__":
    main()
