"""Whether the monitor names the faults planted in scripted applications.

    python -m benchmarks.planted_faults.measure [--half seen unseen] [--good 1200] [--each 100]
        [--unlabelled] [--seed 1]
    python -m benchmarks.planted_faults.measure --of REPORT

Per half 1,200 traces without a fault and 100 of each of eight faults, half of them Chinese,
judged by the embedded judge alone. Prints JSON: balanced accuracy over the nine classes (mean of
their recalls; an answer outside the nine is wrong) with a 95 % interval (bootstrap over the facts
that are asked for), by half and language, the confusion matrices, and how often the interval of
each fault's share holds the true one after 60 labels. `seen` may be looked at to
choose constants; `unseen` is scored once. `--unlabelled` takes the label of the right plugin from
the traces. `--of` puts the totals of what an earlier run printed into `docs/model-card.md`, the
matrices into `benchmarks/embedded_judge/EXPERIMENTS.md`.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.embedded_judge.measure import CARD, EXPERIMENTS, put
from benchmarks.fault_rates import LABELS, corrected
from benchmarks.planted_faults.application import GOOD, PLANTED, Application, PlantedTrace
from benchmarks.planted_faults.diagnosing import Diagnosed, diagnose
from benchmarks.planted_faults.texts import HALVES, LANGUAGES
from rag_monitor.domain.fault import Fault
from rag_monitor.statistics.wilson import effective_wilson

CLASSES: Final = (GOOD, *PLANTED)
_OTHER: Final = "other"
_CLASS_OF: Final = {
    Fault.STALE_SOURCE: "two_price_lists",
    Fault.CONFLICTING_SOURCES: "two_price_lists",
}
_RESAMPLES: Final = 2000
_DRAWS: Final = 2000


def plant(halves: Sequence[str], good: int, each: int, seed: int) -> list[PlantedTrace]:
    """The traces of all applications; `good` and `each` are divided among the languages."""
    return [
        one
        for half in halves
        for language in LANGUAGES
        for one in Application(half, language, seed).traces(
            good // len(LANGUAGES), each // len(LANGUAGES)
        )
    ]


def told(one: Diagnosed) -> str:
    """The class that the monitor names."""
    if one.diagnosis is None:
        return _OTHER
    fault = one.diagnosis.fault
    name = _CLASS_OF.get(fault, str(fault))
    return name if name in CLASSES else _OTHER


def figures(results: Sequence[Diagnosed]) -> dict[str, Any]:
    """Balanced accuracy with its interval, recalls, and the confusion matrix."""
    matrix: dict[str, Counter[str]] = defaultdict(Counter)
    for one in results:
        matrix[one.planted.fault][told(one)] += 1
    return {
        "traces": len(results),
        "facts": len({one.planted.fact for one in results}),
        "balanced_accuracy": _balanced(results),
        "interval": _interval(results),
        "recall": {name: _share(matrix[name], name) for name in CLASSES},
        "confusion": {name: dict(matrix[name].most_common()) for name in CLASSES},
    }


def _share(counts: Counter[str], name: str) -> float:
    return round(counts[name] / max(1, counts.total()), 3)


def _balanced(results: Sequence[Diagnosed]) -> float:
    right: dict[str, list[bool]] = defaultdict(list)
    for one in results:
        right[one.planted.fault].append(told(one) == one.planted.fault)
    return round(float(np.mean([np.mean(found) for found in right.values()])), 3)


def _interval(results: Sequence[Diagnosed]) -> tuple[float, float]:
    """Of the balanced accuracy. Facts are drawn, with all traces that ask for them."""
    facts = sorted({one.planted.fact for one in results})
    place = {fact: number for number, fact in enumerate(facts)}
    right, every = (np.zeros((len(facts), len(CLASSES))) for _ in range(2))
    for one in results:
        cell = place[one.planted.fact], CLASSES.index(one.planted.fault)
        every[cell] += 1
        right[cell] += told(one) == one.planted.fault
    chance = np.random.default_rng(7)
    drawn = chance.multinomial(len(facts), [1 / len(facts)] * len(facts), size=_RESAMPLES)
    recalls = (drawn @ right) / np.maximum(1, drawn @ every)
    low, high = np.percentile(recalls.mean(axis=1), [2.5, 97.5])
    return round(float(low), 3), round(float(high), 3)


def label_coverage(results: Sequence[Diagnosed], seed: int = 11) -> dict[str, dict[str, float]]:
    """How often the interval of a fault's share holds the true one after people's labels.

    Per fault `_DRAWS` times `fault_rates.LABELS` of the traces are labelled, drawn by chance.
    """
    chance = np.random.default_rng(seed)
    found: dict[str, dict[str, float]] = {}
    for name in PLANTED:
        true = np.array([float(one.planted.fault == name) for one in results])
        p = np.array([_probability(one, name) for one in results])
        share, held, width = true.mean(), 0, 0.0
        for _ in range(_DRAWS):
            labelled = chance.choice(true.size, LABELS, replace=False)
            estimate = corrected(p, true, labelled)
            ends = effective_wilson(estimate.value, estimate.se, float(LABELS), 0.95)
            held += ends.lower <= share <= ends.upper
            width += ends.upper - ends.lower
        found[name] = {
            "share": round(float(share), 3),
            "model_alone": round(float(p.mean()), 3),
            "coverage": round(held / _DRAWS, 3),
            "width": round(width / _DRAWS, 3),
        }
    return found


def _probability(one: Diagnosed, name: str) -> float:
    """What the monitor says of a class; of two price lists the faults that stand for it."""
    if one.diagnosis is None:
        return 0.0
    return sum(
        p
        for fault, p in one.diagnosis.probabilities.items()
        if _CLASS_OF.get(fault, str(fault)) == name
    )


def unlabelled(planted: PlantedTrace) -> PlantedTrace:
    """The same without the label of the plugin that should be called."""
    return replace(planted, trace=replace(planted.trace, expected=None))


def report(results: Sequence[Diagnosed], halves: Sequence[str]) -> dict[str, Any]:
    """The figures of each half, and of each language in it."""
    by_app: dict[str, list[Diagnosed]] = defaultdict(list)
    for one in results:
        by_app[one.planted.trace.app].append(one)
    found: dict[str, Any] = {}
    for half in halves:
        mine = {language: by_app[f"assistant-{half}-{language}"] for language in LANGUAGES}
        found[half] = figures([one for apps in mine.values() for one in apps])
        found[half]["after_labels"] = label_coverage(
            [one for apps in mine.values() for one in apps]
        )
        found[half]["by_language"] = {language: figures(apps) for language, apps in mine.items()}
    return found


def summary(found: Mapping[str, Any]) -> str:
    """What the model card says of a report: accuracy by half and language, and its cost."""
    lines = [
        "| half | language | traces / facts | balanced accuracy |",
        "|---|---|---|---|",
    ]
    for half, both in found["halves"].items():
        for language, one in {"both": both, **both["by_language"]}.items():
            low, high = one["interval"]
            lines.append(
                f"| {half} | {language} | {one['traces']} / {one['facts']} "
                f"| {one['balanced_accuracy']:.3f} [{low:.3f}, {high:.3f}] |"
            )
    cost = found["cost_of_a_trace"]
    every = [row for both in found["halves"].values() for row in both["after_labels"].values()]
    held, widths = ([row[name] for row in every] for name in ("coverage", "width"))
    lines += [
        "",
        f"After {LABELS} labels, drawn by chance {_DRAWS:,} times, the interval of each fault's "
        f"share held the true one in {min(held):.3f} to {max(held):.3f} of the draws (width "
        f"{min(widths):.3f} to {max(widths):.3f}).",
        "",
        f"{found['date']}, {found['cpus']} cores, load average {found['load_average']}; processor "
        f"time of a trace: judging {cost['judging_ms']:.1f} ms, diagnosing "
        f"{cost['diagnosing_ms']:.2f} ms.",
    ]
    return "\n".join(lines)


def confusions(found: Mapping[str, Any]) -> str:
    """The confusion matrix of each half of a report."""
    parts: list[str] = []
    for half, both in found["halves"].items():
        languages = [both["by_language"][language]["confusion"] for language in LANGUAGES]
        parts += [
            f"Planted (rows) and told (columns) on {half}, English + Chinese:",
            "\n".join(_matrix(languages)),
        ]
    return "\n\n".join(parts)


def _matrix(by_language: Sequence[Mapping[str, Mapping[str, int]]]) -> list[str]:
    columns = (*CLASSES, _OTHER)
    lines = [f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for name in CLASSES:
        cells = [[told[name].get(column, 0) for told in by_language] for column in columns]
        shown = [" + ".join(map(str, cell)) if any(cell) else "" for cell in cells]
        lines.append(f"| {name} | {' | '.join(shown)} |")
    return lines


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--of", type=Path, metavar="REPORT")
    parser.add_argument("--half", nargs="+", choices=HALVES, default=["seen"])
    parser.add_argument("--good", type=int, default=1200)
    parser.add_argument("--each", type=int, default=100)
    parser.add_argument("--unlabelled", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.of is not None:
        found = json.loads(given.of.read_text(encoding="utf-8"))
        put(CARD, "faults", summary(found))
        put(EXPERIMENTS, "planted faults", confusions(found))
        return
    planted = plant(given.half, given.good, given.each, given.seed)
    if given.unlabelled:
        planted = [unlabelled(one) for one in planted]
    results, cost = diagnose(planted)
    found = {
        "date": datetime.now(UTC).date().isoformat(),
        "cpus": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 1),
        "cost_of_a_trace": asdict(cost),
        "halves": report(results, given.half),
    }
    print(json.dumps(found, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
