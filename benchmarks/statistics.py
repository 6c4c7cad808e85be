"""Simulates what the statistics promise: coverage, label savings, false alarms, delays.

    python benchmarks/statistics.py [--quick] [--seed N] [--only PART …] [--glide-python PYTHON]

Prints one JSON object and exits 1 when a bar does not hold. The rivals (normal and plain Wilson
intervals, an unweighted detector, a rolling z-test, raw burn rates, one threshold per stream) run
beside ours, glide-py's PPI++ where it has an environment (`pip install glide-py`, Python 3.12).
Seeds are fixed.

The full version holds the bars as they are written (a mean run may fall short of A by its one-sided
95% error, as the bar says). `--quick` is a smoke test for CI: few runs, smaller A and a Monte Carlo
allowance; it shows that nothing is badly broken, not that the bars hold. Delays leave out the runs
that raised a false alarm before the change.
"""

from __future__ import annotations

import sys
from pathlib import Path

# The script's own folder would shadow the standard library's `statistics`.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import argparse
import json
import math
import random
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from statistics import NormalDist, fmean, median, pvariance

from benchmarks.bars import Row, Size, row
from benchmarks.complete_windows import complete_windows
from benchmarks.missing_verdicts import missing_verdicts
from benchmarks.populations import AUC, CELLS, QUICK_CELLS, SIZE, population, stream
from benchmarks.session_clusters import clustered_false_alarms, session_clusters
from benchmarks.statistics_reference import (
    binormal_floored_gain,
    difference_mean,
    e_bh,
    ppi_effective_wilson,
    ppi_mean,
    sampling_probabilities,
)
from rag_monitor.statistics.burn import burn_gate
from rag_monitor.statistics.detectors import Detector
from rag_monitor.statistics.difference import LabelSums
from rag_monitor.statistics.moments import MeanEstimate
from rag_monitor.statistics.wilson import Interval, effective_wilson, wilson_interval

PAGING_TIERS = ((2.0, 3_600, 300), (1.5, 21_600, 1_800))
"""Multiple of the allowance, long and short window in seconds: see docs/alerts.md."""


def coverage(size: Size, seed: int) -> Iterator[Row]:
    """Effective-count Wilson covers; normal intervals (rivals) do not. PPI++ is never wider."""
    runs = size.of(2000, 150)
    glide = _glide(size, runs, seed)
    for bad, labels in CELLS if not size.quick else QUICK_CELLS:
        rng = stream(seed, bad, labels)
        hits = dict.fromkeys(("ppi", "designed", "wilson", "ppi_normal"), 0)
        widths = {"ppi": 0.0, "wilson": 0.0}
        for _ in range(runs):
            y, f = population(rng, SIZE, bad, AUC)
            found = _intervals(rng, y, f, labels)
            for name, interval in found.items():
                hits[name] += bad in interval
            for name in widths:
                widths[name] += found[name].width
        noise = 1.645 * math.sqrt(0.93 * 0.07 / runs) if size.quick else 0.0
        name = f"bad {bad:.0%}, {labels} labels"
        rivals: Row = {rival: round(hits[rival] / runs, 4) for rival in ("wilson", "ppi_normal")}
        if glide is not None:
            rivals["glide-py PPI++"] = glide[f"{bad}/{labels}"]
        for ours in ("ppi", "designed"):
            bar = f"coverage of 95% effective Wilson, {ours}, {name}"
            yield row(bar, hits[ours] / runs, 0.93, at_least=True, noise=noise) | {"rivals": rivals}
        ratio = widths["ppi"] / widths["wilson"]
        yield row(f"width against plain Wilson, {name}", ratio, 1.02, at_least=False) | {
            "width": round(widths["ppi"] / runs, 4)
        }


def _glide(size: Size, runs: int, seed: int) -> Row | None:
    """What glide-py makes of the same draws; None without an environment of its own."""
    if size.glide_python is None:
        return None
    script = Path(__file__).with_name("glide_rival.py")
    command = [size.glide_python, str(script), str(runs), str(seed)]
    done = subprocess.run(
        [*command, "--quick"] if size.quick else command, check=True, capture_output=True
    )
    found: Row = json.loads(done.stdout)
    return found


def _intervals(
    rng: random.Random, y: list[int], f: list[float], labels: int
) -> dict[str, Interval]:
    # The population is exchangeable: its head is a uniform sample.
    head, rest = f[:labels], f[labels:]
    found = ppi_mean(y[:labels], head, rest)
    pi = sampling_probabilities(f, labels / len(f)).pi
    drawn = [rng.random() < p for p in pi]
    designed = difference_mean(f, y, pi, drawn)
    return {
        "ppi": ppi_effective_wilson(found).interval,
        "ppi_normal": found.normal_interval(),
        "wilson": wilson_interval(sum(y[:labels]), labels),
        "designed": effective_wilson(designed.value, designed.se, max(1, sum(drawn))).interval,
    }


def people(size: Size, seed: int) -> Iterator[Row]:
    """Three levels: labels of people correct a judge that is wrong in a tenth of the bad answers.

    Embedded score on 2,000 traces (AUC .85), judge on a designed quarter, people on some of those.
    """
    runs = size.of(500, 60)
    for bad, labels in ((0.05, 50), (0.15, 50), (0.15, 200)) if not size.quick else ((0.15, 100),):
        rng = random.Random(f"{seed}-people-{bad}-{labels}")
        covered = judge_alone = 0
        widths, plain = [], []
        for _ in range(runs):
            y, f = population(rng, 2000, bad, 0.85)
            said = [int(rng.random() < (0.9 if truth else 0.05)) for truth in y]
            pi = sampling_probabilities(f, 0.25).pi
            drawn = [rng.random() < p for p in pi]
            asked = [d and rng.random() < labels / 500 for d in drawn]
            judged = difference_mean(f, said, pi, drawn)
            alone = effective_wilson(judged.value, judged.se, sum(drawn)).interval
            sums = _label_sums(f, said, y, pi, asked)
            found = sums.corrected(
                MeanEstimate(judged.value, judged.se), 0.0, traces=float(len(f)), lam=1.0
            )
            interval = effective_wilson(found.value, found.se, sums.n).interval
            covered += bad in interval
            judge_alone += bad in alone
            widths.append(interval.width)
            plain.append(wilson_interval(bad * sums.n, sums.n).width)
        noise = 1.645 * math.sqrt(0.93 * 0.07 / runs)
        bar = f"coverage of the estimate that people correct, bad {bad:.0%}, about {labels} labels"
        yield row(bar, covered / runs, 0.93, at_least=True, noise=noise) | {
            "rivals": {"the judge alone": round(judge_alone / runs, 4)},
            "width": round(fmean(widths), 4),
            "width_of_the_labels_alone": round(fmean(plain), 4),
        }


def _label_sums(
    f: list[float], said: list[int], y: list[int], pi: Sequence[float], asked: list[bool]
) -> LabelSums:
    rows = [
        (v, j, h - j, 1.0 / p) for v, j, h, p, a in zip(f, said, y, pi, asked, strict=True) if a
    ]
    return LabelSums(
        n=float(len(rows)),
        r=sum(r for *_, r in rows),
        rr=sum(r * r for *_, r in rows),
        rd=sum(r * d for _, _, d, r in rows),
        rrd=sum(r * r * d for _, _, d, r in rows),
        rrdd=sum(r * r * d * d for _, _, d, r in rows),
        rrj=sum(r * r * j for _, j, _, r in rows),
        rrjd=sum(r * r * j * d for _, j, d, r in rows),
        f=sum((r * r - r) * v for v, _, _, r in rows),
        fd=sum((r * r - r) * v * d for v, _, d, r in rows),
    )


def savings(size: Size, seed: int) -> Iterator[Row]:
    """Designed sampling saves the labels that theory allows."""
    runs = size.of(2000, 200)
    for bad in (0.05, 0.15) if not size.quick else (0.15,):
        for auc in (0.8, 0.9) if not size.quick else (0.9,):
            rng = random.Random(f"{seed}-savings-{bad}-{auc}")
            errors = []
            for _ in range(runs):
                y, f = population(rng, 4000, bad, auc)
                pi = sampling_probabilities(f, 0.025).pi
                drawn = [rng.random() < p for p in pi]
                errors.append(difference_mean(f, y, pi, drawn).value - fmean(y))
            plain = bad * (1.0 - bad) / 100 * (1.0 - 0.025)
            gain = plain / pvariance(errors, 0.0)
            limit = 0.95 * binormal_floored_gain(bad, auc)
            yield row(
                f"variance gain of designed sampling, bad {bad:.0%}, AUC {auc}",
                gain,
                round(limit, 4),
                at_least=True,
                noise=1.645 * limit * math.sqrt(2.0 / runs) if size.quick else 0.0,
            )


def _run(
    detector: Detector, rng: random.Random, rate: Callable[[int], float], limit: float, cap: int
) -> int:
    state = detector.start()
    while detector.value(state) < limit and state.ticks < cap:
        state = detector.observe(state, rng.random() < rate(state.ticks))
    return state.ticks


def false_alarms(size: Size, seed: int) -> Iterator[Row]:
    """Mean run at the null boundary is at least A, with every trace judged and with a design."""
    runs, detector = size.of(1000, 60), Detector(q=0.1)
    limit = 1000.0 if not size.quick else 200.0
    rng = random.Random(f"{seed}-arl")
    lengths = [_run(detector, rng, lambda _: 0.1, limit, 10**9) for _ in range(runs)]
    yield _arl("every trace judged", lengths, limit)
    limit = 10_000.0 if not size.quick else 1000.0
    for weighted in (True, False):
        rng = random.Random(f"{seed}-designed-arl")
        lengths = [
            _designed_run(rng, lambda _: 0.13, limit, weighted=weighted)
            for _ in range(size.of(1000, 40))
        ]
        if weighted:
            yield _arl("designed sample, weighted", lengths, limit)
        else:
            yield {"rival": "designed sample, unweighted detector", "mean_run": fmean(lengths)}


def _arl(name: str, lengths: list[int], limit: float) -> Row:
    noise = 1.645 * math.sqrt(pvariance(lengths) / len(lengths))
    return row(
        f"mean run to a false alarm, {name}", fmean(lengths), limit, at_least=True, noise=noise
    )


def _designed_run(
    rng: random.Random, bad: Callable[[int], float], limit: float, *, weighted: bool = True
) -> int:
    detector, floor, prior = Detector(q=0.13), 0.02, 0.13
    shift = math.sqrt(2.0) * NormalDist().inv_cdf(0.9)
    odds = math.log(prior / (1.0 - prior))
    # E sqrt(f (1 - f)) of a calibrated binormal score: sqrt(p (1 - p)) exp(-shift^2/8).
    typical = math.sqrt(prior * (1.0 - prior)) * math.exp(-shift * shift / 8.0)
    c = (0.05 - floor) / typical
    state = detector.start()
    while detector.value(state) < limit:
        label = rng.random() < bad(state.ticks)
        x = rng.gauss(shift * label, 1.0)
        f = 1.0 / (1.0 + math.exp(-(odds + shift * x - shift * shift / 2.0)))
        pi = min(1.0, floor + c * math.sqrt(f * (1.0 - f)))
        if rng.random() >= pi:
            state = detector.skip(state)
        else:
            state = detector.observe(state, label, pi=pi, pi_min=floor if weighted else pi)
    return state.ticks


DELAYS = {
    1000.0: {0.85: 138, 0.8: 59, 0.7: 25, 0.5: 12},
    10_000.0: {0.85: 321, 0.8: 118, 0.7: 47, 0.5: 17},
}


def delays(size: Size, seed: int) -> Iterator[Row]:
    """How soon a change is found: at most 1.3 times the reference table."""
    detector = Detector(q=0.1, bets=(0.1, 0.2, 0.4, 0.8, 1.6, 3.2))
    for limit, table in DELAYS.items():
        for level, known in table.items():
            if size.quick and level > 0.8:
                continue
            rng = random.Random(f"{seed}-delay-{limit}-{level}")

            def rate(tick: int, after: float = level) -> float:
                return 0.07 if tick < 500 else 1.0 - after

            found = []
            while len(found) < size.of(400, 40):
                ticks = _run(detector, rng, rate, limit, 20_000)
                if ticks > 500:
                    found.append(ticks - 500)
            yield row(
                f"median delay, good rate .93 to {level}, A = {limit:.0f}",
                median(found),
                1.3 * known,
                at_least=False,
            )
    # Table 5.2, every-trace clock, AUC .9, 10% to 35% at tick 3,000: 348 traces.
    rng = random.Random(f"{seed}-designed-delay")
    found = []
    while len(found) < size.of(200, 15):
        ticks = _designed_run(rng, lambda t: 0.10 if t < 3000 else 0.35, 10_000.0)
        if ticks > 3000:
            found.append(ticks - 3000)
    bar = "median delay in traces, weighted, designed sample, bad 10% to 35%"
    yield row(bar, median(found), 1.3 * 348, at_least=False, noise=100.0 if size.quick else 0.0)


def mixtures(size: Size, seed: int) -> Iterator[Row]:
    """The mixture that rules use, with its weights, against the same table; rival: equal weights.

    By minutes of ten judged traces as well, as a rule sees them.
    """
    ours = Detector(q=0.1)
    rival = Detector(q=0.1, weights=(1.0,) * len(ours.bets))
    levels = DELAYS[10_000.0].items() if not size.quick else [(0.8, 118)]
    for level, known in levels:
        found: dict[str, list[int]] = {"ours": [], "rival": [], "minutes": []}
        for name, detector, batch in (
            ("ours", ours, 1),
            ("rival", rival, 1),
            ("minutes", ours, 10),
        ):
            run = 0
            while len(found[name]) < size.of(400, 30):
                # The same traces for each, so that they differ by their weights alone.
                run += 1
                rng = random.Random(f"{seed}-mixture-{level}-{run}")
                ticks = _batched_run(detector, rng, 1.0 - level, batch)
                if ticks > 500:
                    found[name].append(ticks - 500)
        bar = f"median delay of the rule's mixture, good rate .93 to {level}, A = 10000"
        yield row(bar, median(found["ours"]), 1.3 * known, at_least=False) | {
            "rivals": {"equal weights": median(found["rival"])},
            "by_minutes_of_10": median(found["minutes"]),
        }


def _batched_run(detector: Detector, rng: random.Random, bad: float, batch: int) -> int:
    """Judged traces until the alarm; 0.07 are bad before trace 500, `bad` from then on."""
    state = detector.start()
    while detector.value(state) < 10_000.0 and state.ticks < 20_000:
        rate = 0.07 if state.ticks < 500 else bad
        found = sum(rng.random() < rate for _ in range(batch))
        state = detector.advance(state, detector.e_values({1.0: (batch, found)}), batch)
    return state.ticks


def naive_z(size: Size, seed: int) -> Iterator[Row]:
    """The rival everybody writes first: a rolling test on the last 500, every 100 traces."""
    rng, alarms, runs = random.Random(f"{seed}-z"), 0, size.of(300, 40)
    for _ in range(runs):
        sums = [0, *accumulate(rng.random() < 0.9 for _ in range(20_000))]
        spread = math.sqrt(0.9 * 0.1 / 500)
        alarms += any(
            abs((sums[end] - sums[end - 500]) / 500 - 0.9) / spread > 1.96
            for end in range(500, 20_001, 100)
        )
    yield {
        "rival": "rolling z-test, share of 20,000-trace runs with a false alarm",
        "observed": alarms / runs,
    }


def burn_rates(size: Size, seed: int) -> Iterator[Row]:
    """Pages per stream in 30 simulated days, looked at every minute."""
    days = size.of(30, 5)
    cells = ((0.95, 0.04, 0.5, 0.2), (0.95, 0.05, 0.5, 1.0), (0.95, 0.05, 5.0, 1.0))
    for slo, bad, per_minute, limit in cells if not size.quick else cells[:2]:
        runs = size.of(150, 2)
        rng = random.Random(f"{seed}-burn-{slo}-{bad}-{per_minute}")
        gated = raw = 0
        for _ in range(runs):
            pages, naive = _burn_month(rng, slo, bad, per_minute, days * 1440)
            gated += pages
            raw += naive
        scaled = limit * days / 30
        allowance = 1.645 * math.sqrt(scaled / runs)
        yield row(
            f"pages in {days} days, SLO {slo}, {bad:.1%} bad, {per_minute} judged a minute",
            gated / runs,
            round(scaled, 4),
            at_least=False,
            noise=allowance if size.quick else 0.0,
        ) | {"rivals": {"raw ratio, same tiers": raw / runs}}


def _burn_month(
    rng: random.Random, slo: float, bad: float, per_minute: float, minutes: int
) -> tuple[int, int]:
    judged, wrong = [0], [0]
    for _ in range(minutes):
        n = sum(rng.random() < per_minute / 10 for _ in range(10))
        judged.append(judged[-1] + n)
        wrong.append(wrong[-1] + sum(rng.random() < bad for _ in range(n)))
    starts = naive = 0
    for multiple, long_s, short_s in PAGING_TIERS:
        on = raw_on = False
        for now in range(1, minutes + 1):
            long, short = (max(0, now - s // 60) for s in (long_s, short_s))
            counts = (
                wrong[now] - wrong[long],
                judged[now] - judged[long],
                wrong[now] - wrong[short],
                judged[now] - judged[short],
            )
            limit = multiple * (1.0 - slo)
            hot = counts[1] > 0 and counts[0] / counts[1] > limit
            hot = hot and counts[3] > 0 and counts[2] / counts[3] > limit
            naive += hot and not raw_on
            raw_on = hot
            # The gate implies the raw condition; skip the bound where it cannot hold.
            fires = hot and burn_gate(*counts, slo=slo, multiple=multiple).fires
            starts += fires and not on
            on = fires
    return starts, naive


def many_streams(size: Size, seed: int) -> Iterator[Row]:
    """Error over patience of e-d-BH on 20 null streams, independent and with a common shock."""
    alpha = 0.001 if not size.quick else 0.01
    detector = Detector(q=0.1, bets=(0.1, 0.4, 1.6, 3.2))
    for shock in (False, True):
        rng = random.Random(f"{seed}-streams-{shock}")
        joint, apart = [], []
        for _ in range(size.of(100, 12)):
            states, t, first = [detector.start()] * 20, 0, 0
            while True:
                t += 1
                # 0.1 * 0.3 + 0.9 * 0.7/9 = 0.1: shocked or not, every stream is at the null.
                rate = (0.3 if rng.random() < 0.1 else 0.7 / 9) if shock else 0.1
                states = [detector.observe(s, rng.random() < rate) for s in states]
                values = [detector.value(s) for s in states]
                if not first and max(values) >= 1.0 / alpha:
                    first = t
                if e_bh(values, alpha).k:
                    break
            joint.append(t)
            apart.append(first or t)
        name = "common shock" if shock else "independent"
        error = 1.0 / fmean(joint)
        noise = 1.645 * error * math.sqrt(pvariance(joint) / len(joint)) / fmean(joint)
        noise = noise if size.quick else 0.0
        bar = f"error over patience, {name}"
        yield row(bar, error, alpha, at_least=False, noise=noise) | {
            "rivals": {"one threshold per stream, mean time to any false alarm": fmean(apart)},
            "mean_time": fmean(joint),
        }


PARTS: dict[str, Callable[[Size, int], Iterator[Row]]] = {
    "coverage": coverage,
    "people": people,
    "complete_windows": complete_windows,
    "missing_verdicts": missing_verdicts,
    "sessions": session_clusters,
    "session_alarms": clustered_false_alarms,
    "savings": savings,
    "false_alarms": false_alarms,
    "delays": delays,
    "mixtures": mixtures,
    "naive_z": naive_z,
    "burn_rates": burn_rates,
    "many_streams": many_streams,
}


def main() -> int:
    """Run the parts and print what they found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small version for CI")
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--only", nargs="*", choices=sorted(PARTS), default=sorted(PARTS))
    parser.add_argument("--glide-python", help="of an environment with glide-py (Python 3.12)")
    given = parser.parse_args()
    started = time.perf_counter()
    found: dict[str, list[Row]] = {}
    for name in given.only:
        print(f"{name} …", file=sys.stderr)
        found[name] = list(PARTS[name](Size(given.quick, given.glide_python), given.seed))
    holds = all(r.get("holds", True) for rows in found.values() for r in rows)
    report = {
        "quick": given.quick,
        "seed": given.seed,
        "holds": holds,
        "glide_py": "beside ours" if given.glide_python else "not asked for (--glide-python)",
        "parts": found,
        "seconds": round(time.perf_counter() - started, 1),
    }
    print(json.dumps(report, indent=1))
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
