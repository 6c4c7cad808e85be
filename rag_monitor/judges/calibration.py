"""Calibration files: from a judge's probability to one that means what it says on your data.

Written by `rag-monitor calibrate`, named in a judge's `calibration` setting. The version is a hash
of what the file says, so that scores of different calibrations never share a series.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import Message, msgid
from rag_monitor.statistics.calibration import Isotonic, Platt

FORMAT: Final = 1
Map = Platt | Isotonic


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How one judge's `answer_supported` becomes a probability on one kind of data."""

    judge: str
    """Identity of the judge it was fitted on, without a calibration."""
    map: Map
    threshold: float
    """`answer_supported` below this, after the map, is flagged."""

    @property
    def method(self) -> str:
        """`platt` or `isotonic`."""
        return "platt" if isinstance(self.map, Platt) else "isotonic"

    @property
    def version(self) -> str:
        """Twelve hex digits of the hash of everything that decides a score."""
        content = json.dumps(self._content(), sort_keys=True)
        return f"{self.method}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"

    def apply(self, probability: float) -> float:
        """The calibrated probability, 0 to 1."""
        return min(1.0, max(0.0, self.map.apply(probability)))

    def dump(self, facts: dict[str, Any]) -> str:
        """The text of a calibration file; `facts` say what it was fitted on and how good it is."""
        content = {"format": FORMAT, "version": self.version, **self._content(), "facts": facts}
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"

    def _content(self) -> dict[str, Any]:
        content: dict[str, Any] = {
            "judge": self.judge,
            "metric": "answer_supported",
            "method": self.method,
            "threshold": self.threshold,
        }
        if isinstance(self.map, Platt):
            content |= {"slope": self.map.slope, "intercept": self.map.intercept}
        else:
            content |= {"x": list(self.map.x), "y": list(self.map.y)}
        return content


def read_calibration(path: Path, judge: str) -> Calibration:
    """The calibration in a file, for the judge of this identity.

    Raises:
        ConfigurationError: The file is missing, is no calibration, was edited, or belongs to a
            judge of other features, weights or prompts.
    """
    mend = Message("write it anew with: rag-monitor calibrate ROWS --output {path}", path=path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        calibration = _from(content)
        stated = content["version"]
    except OSError as error:
        raise ConfigurationError(
            "calibration {path}: {reason}; {mend}", path=path, reason=error.strerror, mend=mend
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            "calibration {path} cannot be read ({kind}: {reason}); {mend}",
            path=path,
            kind=type(error).__name__,
            reason=error,
            mend=mend,
        ) from None
    if calibration.version != stated:
        raise ConfigurationError(
            "calibration {path} was changed after it was written; {mend}", path=path, mend=mend
        )
    if calibration.judge != judge:
        text = msgid("calibration {path} belongs to {owner}, not to {judge}; {mend}")
        if calibration.judge.startswith("embedded-lexical/"):
            text = msgid(
                "calibration {path} belongs to {owner}, not to {judge}; {mend}, or keep it for "
                'judge = "embedded-lexical" under [judges.embedded-lexical]'
            )
        raise ConfigurationError(text, path=path, owner=calibration.judge, judge=judge, mend=mend)
    return calibration


def _from(content: dict[str, Any]) -> Calibration:
    if content["format"] != FORMAT:
        raise ValueError(
            Message("format {given} is not {wanted}", given=content["format"], wanted=FORMAT)
        )
    mapping: Map
    if content["method"] == "platt":
        mapping = Platt(float(content["slope"]), float(content["intercept"]))
    elif content["method"] == "isotonic":
        mapping = Isotonic(tuple(map(float, content["x"])), tuple(map(float, content["y"])))
        if not mapping.x or len(mapping.x) != len(mapping.y):
            raise ValueError(Message("x and y need as many points"))
    else:
        raise ValueError(Message("unknown method {method!r}", method=content["method"]))
    return Calibration(
        judge=str(content["judge"]), map=mapping, threshold=float(content["threshold"])
    )
