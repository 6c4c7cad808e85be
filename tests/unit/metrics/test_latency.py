"""Percentiles from histograms."""

from __future__ import annotations

import pytest

from rag_monitor.domain.rollup import LATENCY_BUCKETS_S
from rag_monitor.metrics.latency import bucket_of, histogram_percentile


def test_a_value_on_a_bound_belongs_to_the_bucket_it_closes() -> None:
    assert bucket_of(0.01, LATENCY_BUCKETS_S) == 0
    assert bucket_of(0.0101, LATENCY_BUCKETS_S) == 1
    assert bucket_of(1000.0, LATENCY_BUCKETS_S) == len(LATENCY_BUCKETS_S)


def test_histogram_percentiles_interpolate_inside_the_bucket() -> None:
    counts = [0, 10, 10, 0]

    assert histogram_percentile(counts, (1.0, 2.0, 4.0), 0.5) == pytest.approx(2.0)
    assert histogram_percentile(counts, (1.0, 2.0, 4.0), 0.25) == pytest.approx(1.5)
    assert histogram_percentile(counts, (1.0, 2.0, 4.0), 0.75) == pytest.approx(3.0)


def test_the_open_bucket_answers_with_the_highest_bound() -> None:
    assert histogram_percentile([0, 0, 5], (1.0, 2.0), 0.9) == 2.0
    assert histogram_percentile([0, 0, 0], (1.0, 2.0), 0.9) is None


def test_a_percentage_instead_of_a_share_is_refused() -> None:
    with pytest.raises(ValueError, match="share from 0 to 1"):
        histogram_percentile([1, 1], (1.0,), 95)
