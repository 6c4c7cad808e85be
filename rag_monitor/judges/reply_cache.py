"""Judgements in the reply cache: keyed by everything that could change them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from rag_monitor.domain.judgement import (
    Aspect,
    JudgeIdentity,
    Judgement,
    JudgeRequest,
    JudgeUsage,
    Verdict,
)
from rag_monitor.errors import REFUSALS, JudgeTimeout, JudgeUnavailable


def cache_key(request: JudgeRequest, identity: JudgeIdentity, parameters: Mapping[str, Any]) -> str:
    """SHA-256 over project, judge, parameters, prompts and the whole content of the request."""
    content = asdict(request)
    content["key"] = ""
    if request.history:  # the texts tell of it, whichever traces they are from
        content["history"] = [(turn.question, turn.answer) for turn in request.history]
    else:
        del content["history"]  # as in the keys of releases that knew none
    content["aspects"] = sorted(request.aspects)
    whole = {"judge": str(identity), "parameters": dict(parameters), "request": content}
    text = json.dumps(whole, ensure_ascii=True, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def is_cacheable(judgement: Judgement) -> bool:
    """A judgement with gaps is asked for again instead."""
    passing = {
        "verdict_missing",
        "low_label_mass",
        JudgeUnavailable.reason,
        JudgeTimeout.reason,
        *(error.reason for error in REFUSALS),
    }
    return not passing & set(judgement.missing.values()) and judgement.suspect is None


def dump(judgement: Judgement) -> str:
    """The judgement without usage, and of its identity the model that answered, as JSON."""
    content = asdict(judgement)
    kept = {name: content[name] for name in ("verdicts", "missing", "refusal", "coverage")}
    kept["served_model"] = judgement.identity.served_model
    return json.dumps(kept, ensure_ascii=False)


def load(stored: str, identity: JudgeIdentity) -> Judgement | None:
    """What `dump` wrote; None when it cannot be read (an older release wrote it)."""
    try:
        content = json.loads(stored)
        return Judgement(
            identity=replace(identity, served_model=content.get("served_model", "")),
            verdicts=tuple(
                Verdict(**{**verdict, "aspect": Aspect(verdict["aspect"])})
                for verdict in content["verdicts"]
            ),
            missing={Aspect(aspect): why for aspect, why in content["missing"].items()},
            refusal=bool(content["refusal"]),
            coverage=float(content["coverage"]),
            usage=JudgeUsage(cached=True),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
