"""A bare yes or no, bound to its question: what it says is what was asked."""

from __future__ import annotations

import re
from typing import Final

from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.facts import look_up_facts
from rag_monitor.judges.embedded.matching import Matches
from rag_monitor.judges.embedded.number_derivation import NumberDerivation
from rag_monitor.judges.embedded.segments import Segment
from rag_monitor.language.replies import is_bare_reply, says_no

_ASKS_WHETHER: Final = re.compile(
    r"(?:^|[,.;:] ?|\b(?:so|and|but) )(?:is|are|was|were|do|does|did|can|could|will|would|should"
    r"|has|have|had|may|must|am)(?:n't)?\b|[吗嘛][?？。]?$|是否|能否|可否|有没有|会不会|是不是|[能可]不[能可]"
    r"|要不要|需不需要|支不支持"
)
_ASKING_HAN: Final = re.compile(r"请问|吗|嘛|呢|[?？]|是否|可否|能否")
_HAN_VERB: Final = re.compile(r"(没有|[不没未])?([\u3400-\u9fff]{1,3})[。！!]?")
"""A reply that repeats the verb of its question: 营业吗？不营业。"""
_LONGEST: Final = 40
"""Characters of a bare reply."""
_LEAST: Final = 0.2
"""Share of a question that a sentence must hold to answer it; below, nothing is known."""


def agrees(claim: Segment, evidence: EvidenceIndex) -> bool | None:
    """Whether the passages say what a bare reply says to its question.

    They say no where the sentence that holds most of the question denies what it asks or has
    another number; else yes. None when `claim` is no bare reply to such a question,
    or the passages do not speak of it.
    """
    question_text = evidence.question.folded
    if len(claim.folded) > _LONGEST or not _ASKS_WHETHER.search(question_text):
        return None
    no = says_no_to(claim.folded, question_text)
    if no is None:
        return None
    question = Segment(evidence.question.text, _ASKING_HAN.sub("", question_text).strip())
    alone = EvidenceIndex(evidence.passages, Segment(""), evidence.sentences, evidence.owners)
    [match] = Matches([question], alone).of
    if match.best is None or match.covered < _LEAST:
        return None
    best = alone.sentences[match.best]
    facts = look_up_facts(question, alone, match.unseen, best, 0.0, NumberDerivation(alone))
    refuted = best.denies != question.denies or facts.numbers > 0 or facts.dates > 0
    return no == refuted


def says_no_to(reply: str, question: str) -> bool | None:
    """Whether a reply says no; None when it says more, or neither yes nor no."""
    if is_bare_reply(reply):
        return says_no(reply)
    verb = _HAN_VERB.fullmatch(reply)
    return bool(verb[1]) if verb and verb[2] in question else None
