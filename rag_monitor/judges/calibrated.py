"""Any judge with a stored calibration: its numbers become probabilities that mean what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Protocol

from rag_monitor.domain.judgement import Aspect, JudgeIdentity, Judgement, JudgeRequest, Verdict
from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.judge import InspectableJudge, Judge

NOT_CALIBRATED: Final = frozenset({Aspect.GRADE, Aspect.QUESTION_SIMILARITY})
"""Their value is a quantity, not the probability of a yes."""
_TEXT_VERDICT: Final = "text_verdict"
"""The reason on verdicts read as a bare yes or no: there is nothing to calibrate."""


class Basis(StrEnum):
    """Which number of a verdict goes into the map."""

    PROBABILITY = "probability"
    """What the judge gives by itself; for judges that read logits it equals `raw`."""
    RAW = "raw"
    """`Verdict.raw`, on whatever scale the judge has."""


class ProbabilityMap(Protocol):
    """From a judge's number to a probability, as `statistics.calibration.Platt` does."""

    def apply(self, p: float, /) -> float:
        """The calibrated probability, 0 to 1, never falling as `p` rises."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What was learned from labels about one judge."""

    version: str
    """Goes into the identity: a new calibration starts a new series."""
    maps: Mapping[Aspect, ProbabilityMap] = field(default_factory=dict)
    """Aspects that are left out keep the judge's own numbers."""
    threshold: float | None = None
    """`answer_supported` below it is flagged; None: the judge's own."""
    basis: Basis = Basis.PROBABILITY

    def __post_init__(self) -> None:
        if not self.version:
            raise ConfigurationError("a calibration needs a version")
        if self.threshold is not None and not 0.0 <= self.threshold <= 1.0:
            raise ConfigurationError(
                "a threshold is from 0 to 1, not {threshold}", threshold=self.threshold
            )
        wrong = sorted(aspect.value for aspect in NOT_CALIBRATED & self.maps.keys())
        if wrong:
            raise ConfigurationError(
                "these are no probabilities of a yes: {names}", names=", ".join(wrong)
            )


class CalibratedJudge:
    """Asks a judge and maps what it says; the raw numbers stay in the verdicts.

    Args:
        judge: Any judge without a calibration of its own.
        calibration: Learned on this judge.

    Raises:
        ConfigurationError: The judge is calibrated already; two maps would be applied in a row.
    """

    def __init__(self, judge: Judge, calibration: Calibration) -> None:
        own = judge.identity
        if own.calibration:
            raise ConfigurationError(
                "judge {judge} brings calibration {calibration!r}; turn that off before applying "
                "{version!r}",
                judge=own,
                calibration=own.calibration,
                version=calibration.version,
            )
        self._judge = judge
        self._calibration = calibration

    @property
    def identity(self) -> JudgeIdentity:
        """The judge's, with the version of the calibration."""
        return self._named(self._judge.identity)

    @property
    def aspects(self) -> frozenset[Aspect]:
        """The judge's."""
        return self._judge.aspects

    async def judge(self, request: JudgeRequest) -> Judgement:
        """Judge one trace and calibrate.

        Raises:
            JudgeError: As the judge raises it.
        """
        return self._mapped(await self._judge.judge(request))

    async def judge_many(self, requests: Sequence[JudgeRequest]) -> Sequence[Judgement | Exception]:
        """Judge several traces and calibrate; failures are passed on as they are."""
        results = await self._judge.judge_many(requests)
        return [
            self._mapped(result) if isinstance(result, Judgement) else result for result in results
        ]

    async def inspect(self) -> Mapping[str, object]:
        """What the judge finds out about itself, where it can, and the calibration.

        Raises:
            JudgeError: As the judge raises it.
        """
        facts = await self._judge.inspect() if isinstance(self._judge, InspectableJudge) else {}
        return {**facts, "calibration": self._calibration.version}

    async def close(self) -> None:
        """Close the judge."""
        await self._judge.close()

    def _mapped(self, judgement: Judgement) -> Judgement:
        threshold = self._calibration.threshold
        return replace(
            judgement,
            identity=self._named(judgement.identity),
            verdicts=tuple(self._verdict(verdict) for verdict in judgement.verdicts),
            threshold=judgement.threshold if threshold is None else threshold,
        )

    def _named(self, identity: JudgeIdentity) -> JudgeIdentity:
        return replace(identity, calibration=self._calibration.version)

    def _verdict(self, verdict: Verdict) -> Verdict:
        mapping = self._calibration.maps.get(verdict.aspect)
        if mapping is None or verdict.reason == _TEXT_VERDICT:
            return verdict
        raw = verdict.probability if verdict.raw is None else verdict.raw
        given = raw if self._calibration.basis is Basis.RAW else verdict.probability
        probability = min(1.0, max(0.0, mapping.apply(given)))
        return replace(verdict, probability=probability, raw=raw)
