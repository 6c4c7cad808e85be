"""Labelled questions: `en.txt` (customers of a shop), `zh.txt` (employees who ask their company).

A line that begins with `#` names the intent of those below it. Thresholds were chosen on every
other intent, from the first; the others are held out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

LANGUAGES: Final = ("en", "zh")
Half = Literal["chosen_on", "held_out"]

_FOLDER: Final = Path(__file__).parent


def read(language: str, half: Half | None = None) -> dict[str, list[str]]:
    """The questions of each intent, of all or of one half of them."""
    intents: dict[str, list[str]] = {}
    for line in (_FOLDER / f"{language}.txt").read_text("utf-8").splitlines():
        if line.startswith("# "):
            intents[line[2:]] = []
        elif line:
            intents[next(reversed(intents))].append(line)
    first = {None: 0, "chosen_on": 0, "held_out": 1}[half]
    names = list(intents)[first :: 1 if half is None else 2]
    return {name: intents[name] for name in names}


def labelled(language: str, half: Half) -> list[tuple[str, str]]:
    """Pairs of a question and the name of its intent; `both`: of both languages."""
    languages = LANGUAGES if language == "both" else (language,)
    return [
        (question, f"{name}/{intent}")
        for name in languages
        for intent, questions in read(name, half).items()
        for question in questions
    ]
