"""What shipped rules are called where people read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rag_monitor import i18n
from rag_monitor.i18n import msgid

_SHIPPED: Final[Mapping[str, str]] = {
    "answer supported drop": msgid("answer supported drop"),
    "context precision below last release": msgid("context precision below last release"),
    "context precision drop": msgid("context precision drop"),
    "context sufficiency below last release": msgid("context sufficiency below last release"),
    "context sufficiency drop": msgid("context sufficiency drop"),
    "end-to-end latency": msgid("end-to-end latency"),
    "error rate": msgid("error rate"),
    "faithfulness below last release": msgid("faithfulness below last release"),
    "faithfulness drop": msgid("faithfulness drop"),
    "hit rate drop": msgid("hit rate drop"),
    "judge failures": msgid("judge failures"),
    "no data": msgid("no data"),
    "suspect share": msgid("suspect share"),
    "traffic": msgid("traffic"),
}


def rule_name(name: str, language: str) -> str:
    """A shipped rule in the language; one that somebody wrote as they called it."""
    return i18n.translate(i18n.Message(_SHIPPED[name]), language) if name in _SHIPPED else name
