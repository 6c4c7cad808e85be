"""Every exact case of the reference vectors, within its stated tolerance."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from rag_monitor.sampling.draw import hash_unit
from rag_monitor.statistics import (
    burn,
    calibration,
    design,
    detectors,
    difference,
    effective,
    label_mass,
    leverage,
    multiplicity,
    ppi,
    rogan_gladen,
    sequences,
    three_level,
    weighting,
    wilson,
)

Case = Mapping[str, Any]


def _wilson(given: Case) -> Case:
    interval = wilson.wilson_interval(given["successes"], given["n"], given["confidence"])
    return {"lower": interval.lower, "upper": interval.upper}


def _wilson_lower(given: Case) -> Case:
    return {"lower": wilson.wilson_lower(given["successes"], given["n"], given["confidence"])}


def _ppi(given: Case) -> ppi.PpiEstimate:
    return ppi.ppi_mean(
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
    interval = ppi.ppi_effective_wilson(found, given["confidence"], tuple(given["gain_clip"]))
    return {
        "lam": found.lam,
        "se": found.se,
        "gain": interval.effective / found.labelled,
        "n_eff": interval.effective,
        "estimate": found.value,
        "lower": interval.lower,
        "upper": interval.upper,
    }


def _horvitz_thompson(given: Case) -> Case:
    return {"estimate": weighting.horvitz_thompson_mean(given["y"], given["pi"], given["sampled"])}


def _hajek(given: Case) -> Case:
    found = weighting.hajek_mean(given["y"], given["pi"], given["sampled"])
    return {"estimate": found.value, "se_linearised": found.se}


def _difference(given: Case) -> Case:
    data = (given["f"], given["y"], given["pi"], given["sampled"])
    lam = difference.tuned_lam(*data, clip=False) if given["lam"] == "tuned" else given["lam"]
    found = difference.difference_mean(*data, lam)
    return {
        "lam": found.lam,
        "estimate": found.value,
        "se": found.se,
        "pseudo_outcomes": list(found.pseudo_outcomes),
    }


def _difference_wilson(given: Case) -> Case:
    found = difference.difference_mean(
        given["f"], given["y"], given["pi"], given["sampled"], given["lam"]
    )
    interval = difference.difference_effective_wilson(
        found, given["n_judged"], given["confidence"], tuple(given["n_eff_clip"])
    )
    return {
        "estimate": found.value,
        "se": found.se,
        "n_eff": interval.effective,
        "lower": interval.lower,
        "upper": interval.upper,
    }


def _three_level(given: Case) -> Case:
    found = three_level.three_level_mean(
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
    found = design.sampling_probabilities(given["f"], given["rate"], given["floor_share"])
    return {"pi_min": found.pi_min, "c": found.c, "pi": list(found.pi)}


def _cost_optimal(given: Case) -> Case:
    return asdict(
        design.cost_optimal_policy(
            [tuple(pair) for pair in given["conditional_rmse_counts"]],
            given["var_y"],
            given["cost_cheap"],
            given["cost_judge"],
        )
    )


def _rogan_gladen(given: Case) -> Case:
    found = rogan_gladen.rogan_gladen(**given)
    return {
        "estimate": found.value,
        "se": found.se,
        "wald_lower": found.wald.lower,
        "wald_upper": found.wald.upper,
        "lang_reiczigel_lower": found.lang_reiczigel.lower,
        "lang_reiczigel_upper": found.lang_reiczigel.upper,
    }


def _adjusted(found: multiplicity.AdjustedP) -> Case:
    return {"adjusted": list(found.adjusted), "rejected": list(found.rejected)}


def _e_bh(given: Case) -> Case:
    found = multiplicity.e_bh(given["e"], given["alpha"])
    return {
        "k": found.k,
        "rejected": list(found.rejected),
        "scores_sorted": list(found.scores_sorted),
    }


def _values(given: Case) -> list[float]:
    if "x" in given:
        return list(given["x"])
    return list(given["x_pattern"]) * given["repeats"]


def _eb(given: Case, at: list[int]) -> Case:
    band = sequences.EmpiricalBernstein(given["alpha"], given["truncation"])
    bounds = []
    for x in _values(given):
        band.add(x)
        bounds.append(band.interval)
    return {
        "at": at,
        "lower": [bounds[t - 1].lower for t in at],
        "upper": [bounds[t - 1].upper for t in at],
    }


def _asymptotic(given: Case) -> Case:
    return {"lower": sequences.asymptotic_lower(_values(given), given["rho"], given["delta"])}


def _e_detector(given: Case) -> Case:
    return {
        "sr": detectors.e_sr(given["x"], given["mu0"], given["lam"]),
        "cusum": detectors.e_cusum(given["x"], given["mu0"], given["lam"]),
    }


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
    for bad, pi, drawn in zip(given["bad"], given["pi"], given["sampled"], strict=True):
        if drawn:
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
    "horvitz_thompson_mean": _horvitz_thompson,
    "hajek_mean": _hajek,
    "difference_mean": _difference,
    "difference_effective_wilson": _difference_wilson,
    "kish_effective_size": lambda c: {"n_eff": weighting.kish_effective_size(c["weights"])},
    "three_level_mean": _three_level,
    "sampling_probabilities": _sampling_probabilities,
    "cost_optimal_policy": _cost_optimal,
    "rogan_gladen": _rogan_gladen,
    "benjamini_hochberg": lambda c: _adjusted(multiplicity.benjamini_hochberg(**c)),
    "benjamini_yekutieli": lambda c: _adjusted(multiplicity.benjamini_yekutieli(**c)),
    "e_bh": _e_bh,
    "asymptotic_cs_lower": _asymptotic,
    "e_detector": _e_detector,
    "e_detector_mixture": _mixture,
    "e_detector_weighted": _weighted,
    "label_leverage_bound": lambda c: {"factor": leverage.label_leverage_bound(**c)},
    "binormal_ppi_gain": lambda c: asdict(leverage.binormal_ppi_gain(**c)),
    "binary_proxy_gain": lambda c: asdict(leverage.binary_proxy_gain(**c)),
    "binormal_floored_gain": lambda c: {"gain": leverage.binormal_floored_gain(**c)},
    "max_burn_rate": lambda c: {"max_burn": burn.max_burn_rate(**c)},
    "burn_gate": _burn,
    "hash_unit": lambda c: {"u": hash_unit(c["salt"], c["trace_id"])},
    "label_verdict": lambda c: asdict(label_mass.label_verdict(**c)),
    "ece_equal_mass": _ece,
}


def _wrong(case: Case) -> str | None:
    expected = case["expected"]
    if case["function"] == "eb_confidence_sequence":
        found = _eb(case["input"], expected["at"])
    else:
        found = SOLVERS[case["function"]](case["input"])
    tolerance = case.get("abs_tol", 1e-9)
    for name, wanted in expected.items():
        close = wanted if wanted is None else pytest.approx(wanted, abs=tolerance, rel=0.0)
        if found[name] != close:
            return f"{case['id']}: {name} is {found[name]}, not {wanted}"
    return None


def test_every_reference_vector_is_reproduced(reference_vectors: Path) -> None:
    text = (reference_vectors / "statistics_vectors.json").read_text(encoding="utf-8")
    cases = json.loads(text)["cases"]

    assert len(cases) >= 100
    assert [wrong for case in cases if (wrong := _wrong(case)) is not None] == []


def test_effective_counts_must_be_possible() -> None:
    assert effective.effective_size(0.5, 0.0, 10) == 40
    assert effective.effective_size(1.0, 0.0, 10) == 10
    with pytest.raises(ValueError, match="at least one judged"):
        effective.effective_size(0.5, 0.1, 0)
