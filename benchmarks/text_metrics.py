"""BLEU + ROUGE-L + token F1 over many rows: ours in one pass, beside the libraries called naively.

    python benchmarks/text_metrics.py --rows 100000 --processes 2

Prints one JSON object. Rows are random 50-word English texts with one reference each.
"""

from __future__ import annotations

import sys
from pathlib import Path

# A neighbour of this script is called statistics.py and must not hide the standard library's.
_HERE = Path(__file__).resolve().parent
sys.path[:] = [str(_HERE.parent), *(p for p in sys.path if Path(p or ".").resolve() != _HERE)]

import argparse
import json
import os
import platform
import random
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from multiprocessing import get_context

from rag_monitor.metrics.text.suite import score_text

METRICS = ("bleu_4", "rouge_l", "token_f1")
WORDS = 50
CHUNK = 500

Chunk = list[tuple[str, str]]


def rows(count: int, seed: int = 0) -> Iterator[tuple[str, str]]:
    """Random texts over a Zipf-like vocabulary."""
    draw = random.Random(seed)
    vocabulary = [f"word{n}" for n in range(2000)]
    weights = [1 / (n + 1) for n in range(2000)]
    for _ in range(count):
        words = draw.choices(vocabulary, weights, k=2 * WORDS)
        yield " ".join(words[:WORDS]), " ".join(words[WORDS:])


def chunks(count: int) -> list[Chunk]:
    """Rows in chunks, made before the clock starts."""
    made = list(rows(count))
    return [made[begin : begin + CHUNK] for begin in range(0, count, CHUNK)]


def ours(chunk: Chunk) -> int:
    """Score one chunk."""
    for text, reference in chunk:
        score_text(text, [reference], METRICS)
    return len(chunk)


def naive(chunk: Chunk) -> int:
    """The same three numbers from nltk, rouge-score and a counter, as scripts usually call them."""
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
    from rouge_score import rouge_scorer

    scorer = rouge_scorer.RougeScorer(["rougeL"])
    smooth = SmoothingFunction().method3
    for text, reference in chunk:
        found, wanted = text.split(), reference.split()
        sentence_bleu([wanted], found, smoothing_function=smooth)
        scorer.score(reference, text)
        common = (Counter(found) & Counter(wanted)).total()
        _ = 2 * common / (len(found) + len(wanted))
    return len(chunk)


def timed(work: Callable[[Chunk], int], count: int, processes: int) -> dict[str, float]:
    """Rows a second over all chunks, by the clock and by the processor time of the workers.

    The second figure is what idle cores give; the first also waits for whatever else runs.
    """
    todo = chunks(count)
    used = _children_seconds()
    pool = get_context("spawn").Pool(processes)
    with pool:
        pool.map(work, [[("a b", "a b")]] * processes)  # load libraries before the clock starts
        began = time.perf_counter()
        done = sum(pool.imap_unordered(work, todo))
        seconds = time.perf_counter() - began
        peaks = pool.map(_peak_mb, range(4 * processes), chunksize=1)
        pool.close()
        pool.join()  # only waited-for children are counted
    cpu = _children_seconds() - used
    return {
        "rows": done,
        "seconds": round(seconds, 3),
        "rows_per_s": round(done / seconds, 1),
        "worker_cpu_s": round(cpu, 3),
        "rows_per_cpu_s": round(done / cpu, 1),
        "peak_rss_mb_of_a_worker": round(max(peaks), 1),
    }


def _peak_mb(_: int) -> float:
    """Of this process since it began; `ru_maxrss` would still show what its parent held."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return float(status.partition("VmHWM:")[2].split()[0]) / 1024


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--naive-rows", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    result = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}",
        "metrics": METRICS,
        "words_a_row": WORDS,
        "processes": given.processes,
        "ours": timed(ours, given.rows, given.processes),
        "libraries_naively": timed(naive, given.naive_rows, given.processes),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
