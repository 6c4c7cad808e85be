"""Learns the weights of the fault table from the `seen` half.

    python -m benchmarks.planted_faults.learn [--good 600] [--each 100] [--seed 1]

Prints JSON for `rag_monitor/evaluation/fault_weights.py`, with the balanced accuracy on knowledge
bases that were left out of learning, one after another. The likelihood of the planted class is
maximised through the table's own rows; classes are weighted by one over the square root of their
size.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.planted_faults.diagnosing import Diagnosed, diagnose
from benchmarks.planted_faults.measure import CLASSES, plant
from rag_monitor.evaluation.fault_signals import (
    NAME_DIFFERS,
    NOT_COVERED,
    VALUE_DIFFERS,
    outputs_of,
    read_signals,
)
from rag_monitor.evaluation.fault_weights import logit
from rag_monitor.evaluation.missed_passage import PassageIndex, Search, search_earlier
from rag_monitor.metrics.rag import passages_of

Array = NDArray[np.float64]

_RIDGE: Final = 2e-4
_FLOOR: Final = 1e-3
"""No planted trace costs more than this: some are told wrong whatever the weights."""
_FEATURES: Final[Mapping[str, tuple[str, ...]]] = {
    "REFUSED": ("sufficiency", "relevance", "lead"),
    "ANSWERED": ("sufficiency", "grade", "relevance", "lead"),
    "UNSUPPORTED": ("support", "value_differs", "name_differs", "not_covered", "replaced"),
    "CONTRADICTS": ("words_held",),
    "RANKED_LOW": ("precision",),
    "HELD_ELSEWHERE": ("alone", "gain"),
    "NOT_FOUND": (),
    "CUT_OFF": (),
}


class Table:
    """The rows of `rag_monitor.evaluation.fault` on many traces at once."""

    def __init__(self, results: Sequence[Diagnosed]) -> None:
        search = _Searches(results)
        rows = [_features(one, search(one)) for one in results]
        column = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        self._column = column
        self._parts: dict[str, tuple[slice, Array]] = {}
        self.size = 0
        for name, features in _FEATURES.items():
            inputs = np.stack([np.ones(len(rows)), *(column[f] for f in features)], axis=1)
            self._parts[name] = (slice(self.size, self.size + inputs.shape[1]), inputs)
            self.size += inputs.shape[1]

    def named(self, weights: Array) -> dict[str, list[float]]:
        """The weights by the name of their constant."""
        return {
            name: [round(float(w), 2) for w in weights[part]]
            for name, (part, _) in self._parts.items()
        }

    def probabilities(self, weights: Array) -> Array:
        """Of every class (columns) for every trace."""
        p = {
            name: 1 / (1 + np.exp(-inputs @ weights[part]))
            for name, (part, inputs) in self._parts.items()
        }
        c = self._column
        held = np.where(
            c["is_found"] > 0,
            np.where(c["cut_off"] > 0, p["CUT_OFF"], p["HELD_ELSEWHERE"]),
            p["NOT_FOUND"],
        )
        insufficient = {
            "bad_ranking": held * c["cut_off"],
            "missed_retrieval": held * (1 - c["cut_off"]),
            "knowledge_gap": 1 - held,
        }
        unsupported = {"contradicted": p["CONTRADICTS"], "invented": 1 - p["CONTRADICTS"]}
        rows: list[tuple[Array, Mapping[str, Array | float]]] = [
            (c["misrouted"], {"wrong_route": 1.0}),
            (c["declines"] * p["REFUSED"], {"needless_refusal": 1.0}),
            (c["declines"], insufficient),
            (c["conflict"], {"two_price_lists": 1.0}),
            (1 - p["ANSWERED"], insufficient),
            (p["UNSUPPORTED"], unsupported),
            (p["RANKED_LOW"] * c["is_ranked"], {"bad_ranking": 1.0}),
        ]
        left = np.ones(len(held))
        shares = np.zeros((len(held), len(CLASSES)))
        for takes, divided in rows:
            for name, share in divided.items():
                shares[:, CLASSES.index(name)] += left * takes * share
            left = left * (1 - takes)
        shares[:, 0] += left
        return shares


class _Searches:
    """What the passages that were ever retrieved say.

    Every other trace is searched for in those of all knowledge bases of its application: the more
    passages there are, the more often one fits by chance, and real ones have more than ours.
    """

    def __init__(self, results: Sequence[Diagnosed]) -> None:
        texts: dict[tuple[str, str | None], dict[str, None]] = {}
        for one in results:
            for retrieval in one.planted.trace.retrievals:
                for knowledge_base in (retrieval.knowledge_base, None):
                    key = (one.planted.trace.app, knowledge_base)
                    texts.setdefault(key, {}).update(dict.fromkeys(_returned(one)))
        self._indexes = {key: PassageIndex(passages) for key, passages in texts.items()}
        self._asked = 0

    def __call__(self, one: Diagnosed) -> Search:
        trace = one.planted.trace
        self._asked += 1
        knowledge_base = trace.retrievals[0].knowledge_base if self._asked % 2 else None
        own = PassageIndex(sorted(_returned(one)))
        indexes = (own, self._indexes[trace.app, knowledge_base])
        return search_earlier(trace.question or "", passages_of(trace) or (), indexes)


def _returned(one: Diagnosed) -> set[str]:
    return {d.content for r in one.planted.trace.retrievals for d in r.documents if d.content}


def _features(one: Diagnosed, search: Search) -> dict[str, float]:
    trace, scores = one.planted.trace, one.outcome.scores
    outputs, signals = outputs_of(trace, scores), read_signals(trace, scores)
    missed = search.missed
    sufficiency = 0.5 if outputs.sufficiency is None else outputs.sufficiency
    return {
        "declines": float(outputs.declines),
        "misrouted": 0.0 if signals is None else signals.misrouted,
        "conflict": float(signals is not None and (signals.stale or signals.conflicting)),
        "sufficiency": logit(sufficiency),
        "relevance": logit(sufficiency if outputs.relevance is None else outputs.relevance),
        "grade": 0.0 if outputs.grade is None else logit(outputs.grade),
        "support": logit(0.5 if outputs.support is None else outputs.support),
        "value_differs": float(outputs.reason in VALUE_DIFFERS),
        "name_differs": float(outputs.reason == NAME_DIFFERS),
        "not_covered": float(outputs.reason == NOT_COVERED),
        "replaced": float(outputs.replaced),
        "words_held": outputs.words_held,
        "precision": 1.0 if outputs.precision is None else outputs.precision,
        "is_ranked": float(outputs.precision is not None),
        "lead": search.lead,
        "alone": 0.0 if missed is None else logit(missed.probability),
        "gain": 0.0 if missed is None else missed.gain,
        "is_found": float(missed is not None),
        "cut_off": float(missed is not None and missed.text in _returned(one)),
    }


def learn(results: Sequence[Diagnosed]) -> dict[str, object]:
    """The weights, and how well such weights do on subjects that they were not learnt from."""
    table = Table(results)
    truth = np.array([CLASSES.index(one.planted.fault) for one in results])
    bases = np.array([f"{one.planted.trace.app} {_subject(one)}" for one in results])
    weights = _fitted(table, truth, np.full(len(truth), True), np.zeros(table.size))
    left_out = np.zeros((len(results), len(CLASSES)))
    for base in np.unique(bases):
        others = _fitted(table, truth, bases != base, weights)
        left_out[bases == base] = table.probabilities(others)[bases == base]
    return {
        "weights": table.named(weights),
        "balanced_accuracy_left_out": _balanced(left_out, truth),
        "balanced_accuracy_learnt_from": _balanced(table.probabilities(weights), truth),
    }


def _subject(one: Diagnosed) -> str:
    """The knowledge base of what was asked for."""
    return one.planted.fact.partition("/")[0]


def _fitted(table: Table, truth: Array, used: Array, begin: Array) -> Array:
    sizes = np.bincount(truth[used], minlength=len(CLASSES))
    weight = np.where(used, 1 / np.sqrt(np.maximum(1, sizes))[truth], 0.0)
    weight /= weight.sum()

    def loss(weights: Array) -> float:
        told = table.probabilities(weights)[np.arange(len(truth)), truth]
        return float(-weight @ np.log(told + _FLOOR) + _RIDGE * weights @ weights)

    return minimize(loss, begin, method="L-BFGS-B").x


def _balanced(probabilities: Array, truth: Array) -> float:
    likeliest = probabilities[:, 1:].argmax(axis=1) + 1
    told = np.where(probabilities[:, 0] >= 0.5, 0, likeliest)
    recalls = [np.mean(told[truth == place] == place) for place in np.unique(truth)]
    return round(float(np.mean(recalls)), 3)


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--good", type=int, default=600)
    parser.add_argument("--each", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    results, _ = diagnose(plant(["seen"], given.good, given.each, given.seed))
    print(json.dumps(learn(results), indent=2))


if __name__ == "__main__":
    main()
