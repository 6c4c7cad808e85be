"""Whether two versions of the judge by words alone say the same of every trace.

Usage: `python -m benchmarks.embedded_judge.verdicts DATA_FOLDER [FAMILIES_FILE] --to FILE` in each
of two checkouts, then `python -m benchmarks.embedded_judge.verdicts --compare FILE FILE`, which
prints how many traces were compared and those that differ, and fails if any does. All aspects of
every row of the data sets, answers and details written for the project, injected texts, and text
cut and mixed at random; numbers to seven digits.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.embedded_judge.corpora import everyday, load
from benchmarks.embedded_judge.details import FOLDER
from benchmarks.embedded_judge.written import statements
from rag_monitor.domain.judgement import JudgeRequest
from rag_monitor.judges.embedded import create_lexical
from rag_monitor.judges.embedded.judge import ASPECTS

Trace = tuple[str, str, tuple[str, ...]]
"""Question, answer and passages."""
FILES: Final = (
    "wice_dev", "wice_train", "expertqa_claims", "clapnq_dev", "halueval_qa_first1000",
    "uhgeval_zh", "ragtruth_qa_dev", "ocnli_zh_dev", "rgb_en", "rgb_zh",
)  # fmt: skip
MIXED: Final = 4000
MARKS: Final = (
    *"。！？.!?,，;；:：()（）\"'“”%％$¥-–—|\n\t 0123456789年月日时点半个不没无未❶①",
    "\u200b", "Ａ", "１", "Mr. ", "e.g. ", "No. 5", "10:30", "3%", "$4.5m", " and a half ", "twice",
    "\r\n\r\n", "- ", "1. ",
)  # fmt: skip
DIGITS: Final = 7


def of_data(folder: Path) -> Iterator[Trace]:
    """Every row of the data sets, and what was written for the project."""
    for name in FILES:
        for row in load(folder, name):
            reference = row.get("reference") or ""
            answer = row.get("answer") or (
                reference if isinstance(reference, str) else " ".join(map(str, reference))
            )
            yield row.get("question") or "", answer, tuple(row.get("contexts") or ())
    for row in everyday():
        yield row["question"] or "", row["answer"], tuple(row["contexts"])
    for said in statements(FOLDER):
        yield "", said.text, (said.premise,)


def injected(families: Any, known: list[Trace], draw: random.Random) -> Iterator[Trace]:
    """Every text of the families at the end of a passage, and of an answer."""
    if isinstance(families, str):
        question, answer, passages = draw.choice(known)
        yield question, answer, (f"{passages[0]} {families}", *passages[1:5])
        yield question, f"{answer} {families}", passages[:5]
    elif isinstance(families, dict | list):
        for part in families.values() if isinstance(families, dict) else families:
            yield from injected(part, known, draw)


def mixed(known: list[Trace], draw: random.Random) -> Iterator[Trace]:
    """Stretches of the texts, with marks in any place."""
    texts = [text for _, answer, passages in known for text in (answer, *passages) if text]

    def cut() -> str:
        text = draw.choice(texts)
        start = draw.randrange(len(text))
        found = list(text[start : start + draw.randrange(5, 400)])
        for _ in range(draw.choice((0, 0, 1, 3, 8))):
            found.insert(draw.randrange(len(found) + 1), draw.choice(MARKS))
        return "".join(found)

    for _ in range(MIXED):
        passages = tuple(" ".join(cut() for _ in range(2)) for _ in range(draw.randrange(5)))
        said = [cut()]
        if passages:
            text = draw.choice(passages)
            start = draw.randrange(len(text))
            said.append(text[start : start + draw.randrange(10, 200)])
        draw.shuffle(said)
        yield draw.choice(("", cut()[:80])), " ".join(said), passages


def told(traces: Iterator[Trace]) -> Iterator[str]:
    """What the judge says of each trace, a line of JSON each."""
    engine = create_lexical({})
    for question, answer, passages in traces:
        found = engine.judge_one(
            JudgeRequest(question=question, answer=answer, contexts=passages, aspects=ASPECTS)
        )
        verdicts = [
            (v.aspect, round(v.probability, DIGITS), v.index, v.text, v.start, v.evidence, v.reason)
            for v in found.verdicts
        ]
        missing = sorted(found.missing.items())
        yield json.dumps([verdicts, missing, found.refusal, found.suspect], ensure_ascii=False)


def traces(folder: Path, families: Path | None) -> Iterator[Trace]:
    """All of them, the same in every process."""
    draw = random.Random(5)
    known = list(of_data(folder))
    full = [trace for trace in known if trace[1] and trace[2]]
    yield from known
    if families is not None:
        yield from injected(json.loads(families.read_text(encoding="utf-8")), full, draw)
    yield from mixed(full, draw)


def compare(one: Path, other: Path) -> dict[str, Any]:
    """How many traces there are, and the numbers of those of which two files differ."""
    first, second = (path.read_text(encoding="utf-8").split("\n")[:-1] for path in (one, other))
    pairs = enumerate(zip(first, second, strict=True))
    return {"traces": len(first), "different": [number for number, (a, b) in pairs if a != b]}


def main() -> int:
    """Write what the judge says, or compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("families", type=Path, nargs="?")
    parser.add_argument("--to", type=Path)
    parser.add_argument("--compare", type=Path, nargs=2)
    given = parser.parse_args()
    if given.compare:
        found = compare(*given.compare)
        print(json.dumps(found))
        return bool(found["different"])
    if not (given.data and given.to):
        parser.error("DATA_FOLDER and --to FILE, or --compare FILE FILE")
    with given.to.open("w", encoding="utf-8", errors="surrogatepass") as lines:
        lines.writelines(f"{line}\n" for line in told(traces(given.data, given.families)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
