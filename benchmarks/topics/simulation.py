"""Fourteen days of questions: shares and wording drift, and on the eighth a new topic begins.

    python -m benchmarks.topics.simulation [--language zh] [--seed 3]

Prints JSON. Traffic is drawn from the held-out intents. Each day asks other wordings more often,
with slips of the pen and courtesies; the share of each intent wanders. 2 % of the questions from
the eighth day on are of an intent that nobody had asked about.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sklearn.metrics import adjusted_rand_score

from benchmarks.topics.intents import LANGUAGES, read
from rag_monitor.topics.model import TopicModel
from rag_monitor.topics.options import DISCOVER_AT, MAX_WAITING
from rag_monitor.topics.terms import Terms, terms_of

DAYS: Final = 14
A_DAY: Final = 1_000
BATCH: Final = 100
BEGINS: Final = 7
"""Day from which on the new intent is asked, from 0."""
SHARE: Final = 0.02
_COURTESIES: Final = {
    "en": ("hi, ", "Hello! ", "please: ", "quick question: ", "urgent - "),
    "zh": ("你好，", "请问", "麻烦问一下，", "急！", "在吗，"),
}

Asked = tuple[str, str]


def days(language: str, random_: random.Random) -> Iterator[list[Asked]]:
    """The questions of each day with their intents."""
    intents = read(language, "held_out")
    *known, new = random_.sample(sorted(intents), len(intents))
    level = {name: random_.gauss(0, 0.7) for name in known}
    for day in range(DAYS):
        level = {name: value + random_.gauss(0, 0.15) for name, value in level.items()}
        shares = {name: math.exp(value) for name, value in level.items()}
        asked = []
        for _ in range(A_DAY):
            name = new if day >= BEGINS and random_.random() < SHARE else _drawn(shares, random_)
            wording = _worded(intents[name], day, language, random_)
            asked.append((wording, "planted" if name == new else name))
        yield asked


def simulate(language: str, seed: int) -> dict[str, Any]:
    """What became of the topics."""
    model = TopicModel()
    waiting: list[tuple[Terms, str]] = []
    votes: dict[str, list[Counter[int]]] = defaultdict(lambda: [Counter() for _ in range(DAYS)])
    found: list[tuple[str, int]] = []
    planted = announced = 0
    created: dict[int, int] = {}
    topic_intents: dict[int, Counter[str]] = defaultdict(Counter)
    for day, asked in enumerate(days(language, random.Random(f"{language} {seed}"))):
        for start in range(0, A_DAY, BATCH):
            batch = asked[start : start + BATCH]
            terms = [terms_of(question) for question, _ in batch]
            matches = model.assign(terms)
            for (_, intent), one, match in zip(batch, terms, matches, strict=True):
                planted += intent == "planted"
                if match is None:
                    waiting.append((one, intent))
                    continue
                found.append((intent, match.topic))
                votes[intent][day][match.topic] += 1
                topic_intents[match.topic][intent] += 1
            if len(waiting) < DISCOVER_AT:
                continue
            before = set(model.profiles)
            left = []
            for item, match in zip(waiting, model.discover([t for t, _ in waiting]), strict=True):
                if match is None:
                    left.append(item)
                else:
                    topic_intents[match.topic][item[1]] += 1
            waiting = left[-MAX_WAITING:]
            for topic in set(model.profiles) - before:
                created[topic] = day
                if not announced and _mostly(topic_intents[topic], "planted"):
                    announced = planted
    return {
        "language": language,
        "seed": seed,
        "topics": len(model.profiles),
        "ari_of_assigned": round(adjusted_rand_score(*zip(*found, strict=True)), 3),
        "assigned": round(len(found) / (DAYS * A_DAY), 3),
        "announced_after": announced or None,
        "same_id": _kept(votes),
        "new_topics_by_day": [sum(d == day for d in created.values()) for day in range(DAYS)],
    }


def _kept(votes: Mapping[str, Sequence[Counter[int]]]) -> float:
    """Share of intents' days on which most of its questions had the id of the day before."""
    same = compared = 0
    for by_day in votes.values():
        main = [counts.most_common(1)[0][0] for counts in by_day if counts]
        compared += len(main) - 1
        same += sum(one == other for one, other in itertools.pairwise(main))
    return round(same / compared, 3)


def _mostly(intents: Counter[str], intent: str) -> bool:
    return intents[intent] * 2 > intents.total()


def _drawn(shares: Mapping[str, float], random_: random.Random) -> str:
    return random_.choices(list(shares), list(shares.values()))[0]


def _worded(questions: Sequence[str], day: int, language: str, random_: random.Random) -> str:
    """One of the wordings: those of early days are asked less and less."""
    centre = day / (DAYS - 1) * (len(questions) - 1)
    weights = [math.exp(-(((place - centre) / 6) ** 2)) for place in range(len(questions))]
    question = random_.choices(questions, weights)[0]
    if random_.random() < 0.3:
        question = random_.choice(_COURTESIES[language]) + question
    if random_.random() < 0.1:
        place = random_.randrange(len(question))
        question = question[:place] + question[place + 1 :]
    return question


def main() -> None:
    """Print one JSON object per simulation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--language", choices=LANGUAGES)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    for language in [options.language] if options.language else LANGUAGES:
        for seed in range(5) if options.seed is None else [options.seed]:
            print(json.dumps(simulate(language, seed)), flush=True)


if __name__ == "__main__":
    main()
