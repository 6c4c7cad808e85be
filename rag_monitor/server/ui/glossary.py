"""The words of the pages that need an explanation, in English; both sides are translated."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from rag_monitor.i18n import msgid

GLOSSARY: Final = MappingProxyType(
    {
        msgid("interval"): msgid(
            "Where the true value lies, at the level named beside it: of twenty 95% intervals, "
            "nineteen hold it. It allows for how few traces were judged, and for sessions."
        ),
        msgid("draw"): msgid(
            "Whether a judge was given a trace. Where a share is drawn at random, estimates weigh "
            "each trace by its probability, so that they stand for all traffic."
        ),
        msgid("judged"): msgid(
            "A judge gave the trace a score of this metric. Traces to which the metric does not "
            "apply, and failures of the judge, are not counted."
        ),
        msgid("mark"): msgid(
            "What a person says of an answer: good, bad or unsure, or what was at fault. Users' "
            "thumbs and stars are ratings, and apart from marks."
        ),
        msgid("corrected"): msgid(
            "Enough traces that were drawn for people have marks, so the estimate allows for where "
            "the judge and people differ."
        ),
        msgid("baseline"): msgid(
            "What a number is compared with: the window before, the same hours of earlier weeks or "
            "the last release. The page says which."
        ),
    }
)
