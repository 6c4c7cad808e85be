"""The topics of one application: which one a question belongs to, and which are new.

A topic is known by how many of its questions hold each term. It keeps its id for as long as it
exists: questions join the nearest one, and only those that are near none may become a new one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import NamedTuple

import numpy as np

from rag_monitor.topics.grouping import Floats, concentration, group, inverse_frequency
from rag_monitor.topics.options import (
    ASSIGNED,
    MAX_FREQUENCIES,
    MAX_TERMS,
    MAX_TOPICS,
    MAX_WAITING,
    MEMORY,
    MIN_QUESTIONS,
    SAME,
)
from rag_monitor.topics.terms import Terms


@dataclass(slots=True)
class TopicProfile:
    """What is known of a topic."""

    id: int
    """Above 0; never given to another topic of the application."""
    questions: float = 0.0
    """How many there were; older ones count less."""
    counts: dict[int, float] = field(default_factory=dict)
    """How many of them hold each term, of its most frequent terms."""


class Match(NamedTuple):
    """The topic of a question."""

    topic: int
    similarity: float
    """Cosine of the question and the topic's centre, 0 to 1."""


class TopicModel:
    """Not thread-safe. Memory: `MAX_TOPICS` profiles, and frequencies of `MAX_FREQUENCIES` terms.

    Args:
        profiles: The topics so far.
        frequencies: How many questions hold each term.
        questions: How many there were.
        last_id: The highest id that was ever given.
    """

    def __init__(
        self,
        profiles: Iterable[TopicProfile] = (),
        frequencies: Mapping[int, float] | None = None,
        questions: float = 0.0,
        last_id: int = 0,
    ) -> None:
        self.profiles = {profile.id: profile for profile in profiles}
        self.frequencies: dict[int, float] = dict(frequencies or {})
        self.questions = questions
        self.last_id = max(last_id, *self.profiles, 0)
        self._index: _Index | None = None
        self._weights: dict[int, float] = {}

    def assign(self, questions: Sequence[Terms]) -> list[Match | None]:
        """The topic of each question, None where it is near none. Learns from what it is asked."""
        self._count(questions)
        matches = self._match(questions)
        for terms, match in zip(questions, matches, strict=True):
            if match is not None:
                self._join(self.profiles[match.topic], terms)
        self._index = None
        return matches

    def discover(self, waiting: Sequence[Terms]) -> list[Match | None]:
        """Topics for questions that `assign` gave none, some of them new; None: still none.

        Args:
            waiting: The newest last; more than `MAX_WAITING` are not looked at.
        """
        recent = list(waiting)[-MAX_WAITING:]
        matches: list[Match | None] = [None] * len(waiting)
        if not recent:
            return matches
        times_asked = Counter(recent)
        different = list(times_asked)
        numbers = group(different, [times_asked[terms] for terms in different], self._idf)
        members: dict[int, list[Terms]] = {}
        sizes: Counter[int] = Counter()
        for terms, number in zip(different, numbers, strict=True):
            members.setdefault(number, []).append(terms)
            sizes[number] += times_asked[terms]
        least = max(MIN_QUESTIONS, len(recent) // MAX_TOPICS)
        places: dict[Terms, int] = {}
        for number, size in sizes.most_common():
            topic = self._place(members[number], times_asked) if size >= least else None
            if topic is not None:
                places.update(dict.fromkeys(members[number], topic))
        self._index = None
        offset = len(waiting) - len(recent)
        index = self._indexed()
        for place, terms in enumerate(recent):
            if terms in places:
                matches[offset + place] = Match(
                    places[terms], index.similarity(terms, places[terms], self)
                )
        return matches

    def forget(self, topics: Iterable[int]) -> None:
        """Drop topics that nobody asks about any more."""
        for topic in topics:
            self.profiles.pop(topic, None)
        self._index = None

    def _place(self, alike: Sequence[Terms], times_asked: Mapping[Terms, int]) -> int | None:
        """A topic for a group: one that it is like, or a new one; None: there is no room."""
        profile = TopicProfile(self.last_id + 1)
        for terms in alike:
            self._join(profile, terms, times_asked[terms])
        nearest = self._nearest(profile)
        if nearest is not None:
            for terms in alike:
                self._join(self.profiles[nearest], terms, times_asked[terms])
            return nearest
        if len(self.profiles) >= MAX_TOPICS:
            return None
        self.last_id += 1
        self.profiles[profile.id] = profile
        self._index = None
        return profile.id

    def _nearest(self, profile: TopicProfile) -> int | None:
        if not self.profiles:
            return None
        index = self._indexed()
        centre = {t: self._weight(t) * count for t, count in profile.counts.items()}
        similarity, topic = index.nearest(centre)
        return topic if similarity >= SAME else None

    def _match(self, questions: Sequence[Terms]) -> list[Match | None]:
        if not self.profiles:
            return [None] * len(questions)
        index = self._indexed()
        matches: list[Match | None] = []
        for terms in questions:
            similarity, topic = index.nearest({term: self._weight(term) for term in terms})
            matches.append(Match(topic, similarity) if similarity >= ASSIGNED else None)
        return matches

    def _count(self, questions: Sequence[Terms]) -> None:
        held: Counter[int] = Counter()
        for terms in questions:
            held.update(terms)
        for term, count in held.items():
            self.frequencies[term] = self.frequencies.get(term, 0.0) + count
        self.questions += len(questions)
        self._index = None
        if self.questions > MEMORY * MAX_TOPICS:
            self.questions /= 2
            self.frequencies = {term: count / 2 for term, count in self.frequencies.items()}
        if len(self.frequencies) > MAX_FREQUENCIES:
            self.frequencies = _most_frequent(self.frequencies, MAX_FREQUENCIES * 3 // 4)

    def _join(self, profile: TopicProfile, terms: Terms, times: int = 1) -> None:
        profile.questions += times
        for term in terms:
            profile.counts[term] = profile.counts.get(term, 0.0) + times
        if len(profile.counts) > 2 * MAX_TERMS:
            profile.counts = _most_frequent(profile.counts, MAX_TERMS)
        if profile.questions > MEMORY:
            profile.questions /= 2
            profile.counts = {term: count / 2 for term, count in profile.counts.items()}

    def _idf(self, term: int) -> float:
        return inverse_frequency(self.questions, self.frequencies.get(term, 0.0))

    def _weight(self, term: int) -> float:
        weight = self._weights.get(term)
        if weight is None:
            counts = (p.counts[term] for p in self.profiles.values() if term in p.counts)
            weight = self._weights[term] = self._idf(term) * concentration(counts)
        return weight

    def _indexed(self) -> _Index:
        if self._index is None:
            self._weights = {}
            self._index = _Index(self)
        return self._index


class _Index:
    """The centres of all topics as one matrix of terms by topics."""

    def __init__(self, model: TopicModel) -> None:
        profiles = list(model.profiles.values())
        self._topics = [profile.id for profile in profiles]
        terms = dict.fromkeys(term for profile in profiles for term in profile.counts)
        self._rows = {term: row for row, term in enumerate(terms)}
        self._centres: Floats = np.zeros((len(terms), len(profiles)), np.float32)
        for column, profile in enumerate(profiles):
            for term, count in profile.counts.items():
                self._centres[self._rows[term], column] = count * model._weight(term)
        lengths = np.sqrt((self._centres**2).sum(0))
        self._centres /= np.maximum(lengths, 1e-9)

    def nearest(self, vector: Mapping[int, float]) -> tuple[float, int]:
        similarities = self._similarities(vector)
        best = int(np.argmax(similarities))
        return float(similarities[best]), self._topics[best]

    def similarity(self, terms: Terms, topic: int, model: TopicModel) -> float:
        vector = {term: model._weight(term) for term in terms}
        return float(self._similarities(vector)[self._topics.index(topic)])

    def _similarities(self, vector: Mapping[int, float]) -> Floats:
        in_vocabulary = [term for term in vector if term in self._rows]
        length = sqrt(sum(weight**2 for weight in vector.values()))
        if not in_vocabulary or not length:
            return np.zeros(len(self._topics), np.float32)
        rows = self._centres[[self._rows[term] for term in in_vocabulary]]
        weights = np.array([vector[term] / length for term in in_vocabulary], np.float32)
        return np.asarray(weights @ rows)


def _most_frequent(counts: Mapping[int, float], most: int) -> dict[int, float]:
    kept = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]
    return dict(kept)
