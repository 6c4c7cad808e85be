"""Every exact case of the reference vectors, within its stated tolerance."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path
from statistics import covariance, variance
from typing import Any

import pytest

from benchmarks import statistics_reference as reference
from rag_monitor.sampling.hash_sampling import hash_unit
from rag_monitor.statistics import burn, calibration, comparison, detectors, wilson

Case = Mapping[str, Any]

NOT_IMPLEMENTED = {
    "asymptotic_cs_lower",
    "benjamini_yekutieli",
    "binary_proxy_gain",
    "binormal_ppi_gain",
    "cost_optimal_policy",
    "eb_confidence_sequence",
    "hajek_mean",
    "horvitz_thompson_mean",
    "kish_effective_size",
    "label_leverage_bound",
    "label_verdict",
    "rogan_gladen",
}
"""Functions of the vectors that nothing in the product or its benchmarks calls."""


def _wilson(given: Case) -> Case:
    interval = wilson.wilson_interval(given["successes"], given["n"], given["confidence"])
    return {"lower": interval.lower, "upper": interval.upper}


def _wilson_lower(given: Case) -> Case:
    return {"lower": wilson.wilson_lower(given["successes"], given["n"], given["confidence"])}


def _ppi(given: Case) -> reference.PpiEstimate:
    return reference.ppi_mean(
        given["y_labelled"],
        given["f_labelled"],
        given["f_unlabelled"],
        None if given["lam"] == "tuned" else given["lam"],
        variance_ddof=given["variance_ddof"],
        covariance_ddof=given["covariance_ddof"],
    )


def _ppi_mean(given: Case) -> Case:
    found = _ppi(given)
    interval = found.normal_interval(given["confidence"])
    return {
        "lam": found.lam,
        "estimate": found.value,
        "se": found.se,
        "lower": interval.lower,
        "upper": interval.upper,
    }


def _ppi_effective(given: Case) -> Case:
    found = _ppi(given)
    interval = reference.ppi_effective_wilson(found, given["confidence"], tuple(given["gain_clip"]))
    return {
        "lam": found.lam,
        "se": found.se,
        "gain": interval.effective / found.labelled,
        "n_eff": interval.effective,
        "estimate": found.value,
        "lower": interval.lower,
        "upper": interval.upper,
    }


def _tuned_lam(f: list[float], y: list[float | None], pi: list[float], sampled: list[int]) -> float:
    """Unclipped, unlike `DifferenceSums.tuned_lam`."""
    ratios = [is_sampled / p for is_sampled, p in zip(sampled, pi, strict=True)]
    a = [score * (ratio - 1.0) for score, ratio in zip(f, ratios, strict=True)]
    b = [(value or 0.0) * ratio for value, ratio in zip(y, ratios, strict=True)]
    return covariance(a, b) / variance(a)


def _difference(given: Case) -> Case:
    data = (given["f"], given["y"], given["pi"], given["sampled"])
    lam = _tuned_lam(*data) if given["lam"] == "tuned" else given["lam"]
    found = reference.difference_mean(*data, lam)
    return {
        "lam": found.lam,
        "estimate": found.value,
        "se": found.se,
        "pseudo_outcomes": list(found.pseudo_outcomes),
    }


def _difference_wilson(given: Case) -> Case:
    found = reference.difference_mean(
        given["f"], given["y"], given["pi"], given["sampled"], given["lam"]
    )
    interval = wilson.effective_wilson(
        found.value, found.se, given["n_judged"], given["confidence"], tuple(given["n_eff_clip"])
    )
    return {
        "estimate": found.value,
        "se": found.se,
        "n_eff": interval.effective,
        "lower": interval.lower,
        "upper": interval.upper,
    }


def _three_level(given: Case) -> Case:
    found = reference.three_level_mean(
        given["f"],
        given["judge"],
        given["pi"],
        given["judged"],
        given["human"],
        given["pi_human"],
        given["human_sampled"],
    )
    return {
        "estimate": found.value,
        "se": found.se,
        "pseudo_outcomes": list(found.pseudo_outcomes),
    }


def _sampling_probabilities(given: Case) -> Case:
    found = reference.sampling_probabilities(given["f"], given["rate"], given["floor_share"])
    return {"pi_min": found.pi_min, "c": found.c, "pi": list(found.pi)}


def _adjusted(found: comparison.AdjustedP) -> Case:
    return {"adjusted": list(found.adjusted), "rejected": list(found.rejected)}


def _e_bh(given: Case) -> Case:
    found = reference.e_bh(given["e"], given["alpha"])
    return {
        "k": found.k,
        "rejected": list(found.rejected),
        "scores_sorted": list(found.scores_sorted),
    }


def _e_detector(given: Case) -> Case:
    detector = detectors.Detector(q=1.0 - given["mu0"], bets=(given["lam"],))
    start = detector.start()
    states = accumulate(given["x"], lambda s, x: detector.observe(s, 1.0 - x), initial=start)
    return {"sr": [detector.value(state) for state in states][1:]}


def _mixture(given: Case) -> Case:
    detector = detectors.Detector(q=1.0 - given["mu0"], bets=tuple(given["lam_grid"]))
    state = detector.start()
    found: dict[str, float] = {}
    stream = [x for part in given["x_segments"] for x in part["pattern"] * part["repeats"]]
    for t, x in enumerate(stream, start=1):
        state = detector.observe(state, 1.0 - x)
        value = detector.value(state)
        if t == 60:
            found["value_at_60"] = value
        if value >= given["threshold"] and "alarm_at" not in found:
            found |= {"alarm_at": t, "value_at_alarm": value}
    return found


def _weighted(given: Case) -> Case:
    detector = detectors.Detector(q=given["q"], bets=(given["lam"],))
    state = detector.start()
    values = []
    for bad, pi, is_sampled in zip(given["bad"], given["pi"], given["sampled"], strict=True):
        if is_sampled:
            state = detector.observe(state, bad, pi=pi, pi_min=given["pi_min"])
        else:
            state = detector.skip(state)
        values.append(detector.value(state))
    return {"sr": values}


def _burn(given: Case) -> Case:
    return asdict(burn.burn_gate(**given))


def _ece(given: Case) -> Case:
    return {
        "ece": calibration.ece_equal_mass(given["p"], given["y"], given["bins"]),
        "brier": calibration.brier(given["p"], given["y"]),
    }


SOLVERS: dict[str, Callable[[Case], Case]] = {
    "wilson_interval": _wilson,
    "wilson_lower_one_sided": _wilson_lower,
    "ppi_mean": _ppi_mean,
    "ppi_effective_wilson": _ppi_effective,
    "difference_mean": _difference,
    "difference_effective_wilson": _difference_wilson,
    "three_level_mean": _three_level,
    "sampling_probabilities": _sampling_probabilities,
    "benjamini_hochberg": lambda c: _adjusted(comparison.benjamini_hochberg(**c)),
    "e_bh": _e_bh,
    "e_detector": _e_detector,
    "e_detector_mixture": _mixture,
    "e_detector_weighted": _weighted,
    "binormal_floored_gain": lambda c: {"gain": reference.binormal_floored_gain(**c)},
    "max_burn_rate": lambda c: {"max_burn": burn.max_burn_rate(**c)},
    "burn_gate": _burn,
    "hash_unit": lambda c: {"u": hash_unit(c["salt"], c["trace_id"])},
    "ece_equal_mass": _ece,
}


def _wrong(case: Case) -> str | None:
    expected = case["expected"]
    found = SOLVERS[case["function"]](case["input"])
    tolerance = case.get("abs_tol", 1e-9)
    for name, wanted in expected.items():
        if (case["function"], name) == ("e_detector", "cusum"):
            continue  # Shiryaev-Roberts is the faster of the two, and the one in the product
        close = wanted if wanted is None else pytest.approx(wanted, abs=tolerance, rel=0.0)
        if found[name] != close:
            return f"{case['id']}: {name} is {found[name]}, not {wanted}"
    return None


def test_every_reference_vector_is_reproduced(reference_vectors: Path) -> None:
    text = (reference_vectors / "statistics_vectors.json").read_text(encoding="utf-8")
    cases = json.loads(text)["cases"]

    assert {case["function"] for case in cases} == SOLVERS.keys() | NOT_IMPLEMENTED
    solved = [case for case in cases if case["function"] in SOLVERS]
    assert [wrong for case in solved if (wrong := _wrong(case)) is not None] == []


def test_effective_counts_must_be_possible() -> None:
    assert wilson.effective_size(0.5, 0.0, 10) == 40
    assert wilson.effective_size(1.0, 0.0, 10) == 10
    with pytest.raises(ValueError, match="at least one judged"):
        wilson.effective_size(0.5, 0.1, 0)
