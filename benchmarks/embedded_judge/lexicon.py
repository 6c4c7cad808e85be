"""Count how common words and Han bigrams are in permissively licensed passages.

Usage: `python -m benchmarks.embedded_judge.lexicon DATA_FOLDER`
Writes `rag_monitor/judges/embedded/lexicon.json.gz`: step (weight times 20) to terms.
"""

from __future__ import annotations

import gzip
import json
import math
import sys
from collections import Counter
from pathlib import Path

from rag_monitor.language.normalise import fold
from rag_monitor.language.sentences import split_sentences
from rag_monitor.language.tokens import term_set

SOURCES = ("wice_dev", "wice_train", "expertqa_claims", "clapnq_dev", "halueval_qa_first1000")
CHINESE = ("uhgeval_zh",)
TARGET = (
    Path(__file__).resolve().parents[2] / "rag_monitor" / "judges" / "embedded" / "lexicon.json.gz"
)


def count(folder: Path, names: tuple[str, ...]) -> tuple[Counter[str], int]:
    """Document frequency of every term over distinct sentences, and how many there are."""
    seen: set[str] = set()
    counts: Counter[str] = Counter()
    for name in names:
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                for context in json.loads(line)["contexts"] or ():
                    if context in seen:
                        continue
                    seen.add(context)
                    for span in split_sentences(context):
                        if span.text in seen:
                            continue
                        seen.add(span.text)
                        folded = fold(span.text)
                        counts.update(term_set(folded))
    return counts, len(seen)


def steps(counts: Counter[str], total: int, minimum: int) -> dict[int, list[str]]:
    """Terms by weight: the inverse document frequency scaled to 1..20."""
    highest = math.log(total / minimum)
    found: dict[int, list[str]] = {}
    for term, number in counts.items():
        if number >= minimum and not term[0].isdigit():
            step = max(1, min(20, round(20 * math.log(total / number) / highest)))
            if step < 20:
                found.setdefault(step, []).append(term)
    return found


def main(folder: Path) -> None:
    """Write the lexicon."""
    merged: dict[str, str] = {}
    for names, minimum in ((SOURCES, 4), (CHINESE, 3)):
        counts, total = count(folder, names)
        for step, found in steps(counts, total, minimum).items():
            words = merged.get(str(step), "").split() + found
            merged[str(step)] = " ".join(sorted(set(words)))
    packed = json.dumps(merged, ensure_ascii=False, sort_keys=True).encode("utf-8")
    TARGET.write_bytes(gzip.compress(packed, mtime=0))
    print(
        json.dumps(
            {"terms": sum(len(v.split()) for v in merged.values()), "bytes": TARGET.stat().st_size}
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
