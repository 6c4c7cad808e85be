"""What the product says to people, in their language.

A sentence is made where it arises, in English and with its parameters by name:

    Message("{count} traces are being assembled", count=3)
    raise RuleError("window_s: must be {low} to {high}", low=60, high=3600)

Errors of `rag_monitor.errors` make a `Message` of what they are given. `str(error)` is the English
sentence; `translate(error, "zh")` is the Chinese one, filled with the same parameters. The
translations are gettext catalogues, one file for each language:
`rag_monitor/locale/<language>/LC_MESSAGES/rag_monitor.po`.
"""

from __future__ import annotations

from rag_monitor.i18n.catalogue import ENGLISH, languages, name_of, tag_of
from rag_monitor.i18n.message import Message, made_of, msgid, recipe, translate

__all__ = [
    "ENGLISH",
    "Message",
    "languages",
    "made_of",
    "msgid",
    "name_of",
    "recipe",
    "tag_of",
    "translate",
]
