"""From a detector's numbers to the probability that a statement is supported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.detectors.formats import Format, Reads
from rag_monitor.judges.detectors.runner import Numbers
from rag_monitor.judges.labels import verdict_of

CONTRADICTION: Final = "contradiction"


@dataclass(frozen=True, slots=True)
class Score:
    """What one input says of a statement."""

    supported: float | None
    """0 to 1; None: the model said neither yes nor no."""
    contradicted: bool = False
    """The model takes it for the opposite of what the passages say."""


def score_of(numbers: Numbers, form: Format) -> Score:
    """The score of one input of any format but `TOKENS`.

    Raises:
        ConfigurationError: The model has fewer classes than its format reads.
    """
    if form.reads is Reads.WORDS:
        ungrounded, grounded = map(float, numbers)  # it is asked whether the risk is there
        return Score(verdict_of(yes=grounded, no=ungrounded).probability)
    shares = _shares(numbers, form)
    supported = float(shares[form.supported])
    against = form.contradiction
    contradicted = against is not None and int(shares.argmax()) == against
    return Score(supported, contradicted)


def unsupported_tokens(numbers: Numbers, form: Format) -> NDArray[np.float64]:
    """Per token of an input the probability that it is not supported.

    Raises:
        ConfigurationError: The model has fewer classes than its format reads.
    """
    return np.asarray(_shares(numbers, form)[:, form.supported])


def _shares(numbers: Numbers, form: Format) -> NDArray[np.float64]:
    """The share of each class; a single output is the log-odds of "supported"."""
    logits = numbers.astype(np.float64)
    if logits.shape[-1] == 1 and form.reads is Reads.CLASSES:
        return np.asarray(1.0 / (1.0 + np.exp(-logits)))
    if form.supported >= logits.shape[-1]:
        raise ConfigurationError(
            "the detector gives {count} numbers where {form} has at least {least}; see "
            "judges.detector.format",
            count=logits.shape[-1],
            form=form.name,
            least=form.supported + 1,
        )
    parts = np.exp(logits - logits.max(-1, keepdims=True))
    return np.asarray(parts / parts.sum(-1, keepdims=True))
