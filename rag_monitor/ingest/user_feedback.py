"""Ratings by users among the scores of other tools: told by their name, and never guessed at.

Phoenix, Langfuse, LangSmith and others keep thumbs and stars of users beside what people and models
of the team annotate. What users say is a rating; everything else stays a score of that tool.
"""

from __future__ import annotations

import re
from typing import Final

from rag_monitor.domain.rating import Rating, RatingError, rating_of
from rag_monitor.ingest.evaluations import EvaluationRecord

_NAMES: Final = frozenset(
    {
        *("user_feedback", "user_rating", "user_score", "user_satisfaction", "user_thumbs"),
        *("end_user_feedback", "thumbs", "thumbs_up", "thumbs_up_down", "thumbs_feedback"),
        *("stars", "star_rating", "user_stars"),
    }
)
"""What the tools' guides call what users say, in lower case with `_` between words."""
_ON_A_SCALE: Final = ("star", "rating")
"""In names of which a plain 1 may be the worst of five."""
_BY_THE_TEAM: Final = frozenset({"llm", "code", "eval", "annotation"})
"""Annotators, as sources name them last but for an identifier, that are no users."""
_WORDS: Final = {
    **dict.fromkeys(("true", "yes", "positive", "like", "liked", "good", "👍"), True),
    **dict.fromkeys(("false", "no", "negative", "dislike", "disliked", "bad", "👎"), False),
}
_OF: Final = re.compile(
    r"(\d+(?:\.\d+)?)\s*(?:/|of|out of)\s*(\d{1,3})(?:\s*stars?)?", re.IGNORECASE
)


def rating_in(record: EvaluationRecord) -> Rating | None:
    """The rating by a user that a score is; None: it is something else, or its scale is not known.

    A record without its time is none either: sent again it would be another rating.
    """
    name = re.sub(r"[\s.-]+", "_", record.name.strip().casefold())
    parts = {part.strip().casefold() for part in record.source.split("/")}
    if name not in _NAMES or parts & _BY_THE_TEAM or record.at is None or record.error:
        return None
    label = record.label.strip() if record.label else None
    try:
        if label:
            on_scale = _OF.fullmatch(label)
            if on_scale is not None:
                return rating_of(float(on_scale[1]), int(on_scale[2]))
            return rating_of(_WORDS.get(label.casefold(), label))
        scaled = any(word in name for word in _ON_A_SCALE)
        return None if record.value is None or scaled else rating_of(record.value)
    except RatingError:
        return None
