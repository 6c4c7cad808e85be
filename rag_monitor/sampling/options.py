"""Options of sampling: the design that decides which traces are judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final

from rag_monitor.domain.ranges import between, check_ranges, not_negative
from rag_monitor.errors import ConfigurationError
from rag_monitor.sampling.hash_sampling import MAX_SALT_BYTES, rounded_up

STRATUM_KINDS: Final = ("app", "knowledge_base", "tag", "release", "environment")
"""What traces can be told apart by, in the order in which strata are tried."""
_SHARE: Final = between(0, 1, "sampling.{name} is a share from 0 to 1, not {value}")
_SOME: Final = between(
    0, 1, "sampling.{name} is a share from above 0 to 1, not {value}", least_open=True
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingOptions:
    """The design. Change the salt when you change the design, so that both stay apart."""

    rate: Annotated[float, _SOME] = 0.05
    """Share of traffic an expensive judge sees, in (0, 1]; 1: every trace."""
    floor_share: Annotated[float, _SOME] = 0.4
    """Smallest probability / rate; 0.6 when the cheap score's calibration error exceeds 0.05."""
    min_per_window: Annotated[int, not_negative("sampling.{name} cannot be negative")] = 30
    """Judged traces wanted per app and window; raises the rate of quiet apps."""
    error_rate: Annotated[float, _SHARE] = 0.5
    """Least probability of a trace that failed."""
    new_release_rate: Annotated[float, _SHARE] = 0.5
    """Least probability of a trace of a release that has just appeared."""
    strata: Mapping[str, float] = field(default_factory=dict)
    """Rates of their own, by `app=…`, `environment=…`, `release=…`, `tag=…` or
    `knowledge_base=…`; the first that fits in this order of kinds is taken."""
    budget_soft: Annotated[float, _SHARE] = 0.2
    """Remaining share of a budget below which probabilities sink towards the floor."""
    salt: str = "judge"
    """Names the design; at most 64 bytes."""
    human_rate: Annotated[float, _SHARE] = 0.02
    """Share of the judged traces that people are asked to label; 0: nobody is asked."""
    human_salt: str = "people"
    """Another salt than the judge's, so that the two draws are independent."""

    def __post_init__(self) -> None:
        if self.rate == 0:
            raise ConfigurationError(
                "sampling.rate is a share from above 0 to 1, not 0.0; to have nothing judged by an "
                'expensive judge, leave `judge` at "embedded"'
            )
        check_ranges(self, ConfigurationError)
        for name, rate in self.strata.items():
            kind, _, value = name.partition("=")
            if kind not in STRATUM_KINDS or not value:
                raise ConfigurationError(
                    "sampling stratum {name!r} is not understood; write one of {kinds}",
                    name=name,
                    kinds=", ".join(f"{kind}=NAME" for kind in STRATUM_KINDS),
                )
            if not _SOME.holds(rate):
                raise ConfigurationError(_SOME.refused(f"strata[{name!r}]", rate))
        for name in ("salt", "human_salt"):
            if not 0 < len(getattr(self, name).encode("utf-8", "surrogatepass")) <= MAX_SALT_BYTES:
                raise ConfigurationError("sampling.{name} needs 1 to 64 bytes", name=name)
        if self.salt == self.human_salt:
            raise ConfigurationError("sampling.salt and sampling.human_salt must differ")

    @property
    def pi_min(self) -> float:
        """No trace has a smaller probability: the floor that weighted detectors need."""
        return rounded_up(self.floor_share * min((self.rate, *self.strata.values())))
