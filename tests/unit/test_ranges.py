"""Ranges of options stand beside their types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest

from rag_monitor.domain.ranges import above, at_least, at_most, between, check_ranges, not_negative
from rag_monitor.errors import ConfigurationError


@dataclass(frozen=True, kw_only=True)
class Some:
    pause_s: Annotated[float, above(0)] = 1.0
    tries: Annotated[int, at_least(1), at_most(9, "`{name}`: at most {most:,}")] = 3
    spare: Annotated[int | None, not_negative()] = None
    share: Annotated[float, between(0, 1, "{name} is a share", least_open=True)] = 0.5
    free: int = -1


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        (Some(pause_s=0), "`pause_s` must be above 0, not 0"),
        (Some(pause_s=float("nan")), "`pause_s` must be above 0, not nan"),
        (Some(tries=0), "`tries` must be at least 1, not 0"),
        (Some(tries=10), "`tries`: at most 9"),
        (Some(spare=-1), "`spare` must be 0 or more, not -1"),
        (Some(share=0), "share is a share"),
        (Some(share=1.1), "share is a share"),
    ],
)
def test_what_is_out_of_its_range_is_refused_by_name(options: Some, refusal: str) -> None:
    with pytest.raises(ValueError, match=r"share|must be|at most") as refused:
        check_ranges(options)
    assert str(refused.value) == refusal


def test_the_ends_of_ranges_and_nothing_are_taken() -> None:
    check_ranges(Some(pause_s=1e-9, tries=1, spare=0, share=1))
    check_ranges(Some(tries=9, spare=None))


def test_the_error_is_of_the_kind_that_is_asked_for() -> None:
    with pytest.raises(ConfigurationError):
        check_ranges(Some(tries=0), ConfigurationError)
