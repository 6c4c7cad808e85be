"""From judged traces to topics: batch by batch, and now and then a look for new ones.

Runs with the leader alone. Nothing is kept between runs but when each application was last looked
through, so another process goes on where this one ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from rag_monitor import telemetry
from rag_monitor.domain.clock import Clock
from rag_monitor.domain.stored import Lease
from rag_monitor.domain.topic import NO_TOPIC, JudgedQuestion
from rag_monitor.errors import LeaseLost, StoreDamaged, StoreUnavailable
from rag_monitor.store.topic_feed import CURSOR, Judged, KnownApp, KnownTopic, Placed, TopicFeed
from rag_monitor.topics.model import Match, TopicModel, TopicProfile
from rag_monitor.topics.naming import name_topics, words_of
from rag_monitor.topics.options import DISCOVER_AT, MAX_TOPICS, MAX_WAITING
from rag_monitor.topics.terms import terms_of

_LOG: Final = logging.getLogger(__name__)

EVERY_S: Final = 10.0
_SETTLE: Final = timedelta(seconds=5)
"""A transaction that saved scores with an older time may still be under way for so long."""
_SCORES: Final = 5_000
"""Of one batch: some hundred traces."""
_QUIET: Final = timedelta(days=30)
"""A topic that nobody asked about for longer gives its place to a new one, once there is no
other."""
_STALE_DAYS: Final = 20
_ADD_UP_EVERY_S: Final = 60.0
_LOOK_EVERY_S: Final = 3600.0
"""Fewer questions than `DISCOVER_AT` are looked through so often."""
_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)

_App = tuple[str, str]


@dataclass(slots=True)
class _Look:
    """When an application was last looked through for new topics."""

    at: float
    since: int = 0
    """Questions without a topic since then."""


class TopicFinder:
    """Gives questions their topics. Blocks, but for `find_due`.

    Args:
        feed: Judged questions, and where their topics are saved.
        clock: Of the process.
        before_save: Gives the lease that saves depend on, or raises `LeaseLost`; None: nobody else
            can lead.
    """

    def __init__(
        self, feed: TopicFeed, clock: Clock, before_save: Callable[[], Lease] | None = None
    ) -> None:
        self._feed = feed
        self._clock = clock
        self._before_save = before_save
        self._looks: dict[_App, _Look] = {}
        self._added_up_at = clock.monotonic() - _ADD_UP_EVERY_S

    async def find_due(self) -> int:
        """Deal with one batch of judged traces; returns how many there were."""
        try:
            return await asyncio.to_thread(self.find)
        except LeaseLost as error:
            _LOG.info("topics: %s", error)
            return 0

    def find(self) -> int:
        """As `find_due`."""
        now = self._clock.now()
        after = self._feed.cursor(CURSOR, _BEGINNING)
        if after > now:
            _LOG.warning("the mark of topics lies ahead: the clock was set back; it follows")
            self._feed.rewind(CURSOR, now - _SETTLE)
            after = now - _SETTLE
        judged = self._feed.judged(after, now - _SETTLE, _SCORES)
        for (project, app), questions in _by_app(judged.questions).items():
            _guarded(app, partial(self._place, project, app, questions, judged))
        if judged.until is not None:
            self._feed.finish(judged.until)
        self._look_overdue()
        self._add_up()
        return len(judged.questions)

    def _place(
        self, project: str, app: str, questions: Sequence[JudgedQuestion], judged: Judged
    ) -> None:
        state = self._feed.state_of(project, app)
        model = _model_of(state)
        topic_of = {q.trace_id: judged.topics.get((project, q.trace_id)) for q in questions}
        new = [question for question in questions if topic_of[question.trace_id] is None]
        matches = model.assign([terms_of(question.question) for question in new])
        placed = [_placed(*pair) for pair in zip(new, matches, strict=True)]
        again = [
            Placed(question=question, topic=topic)
            for question in questions
            if (topic := topic_of[question.trace_id]) is not None
        ]
        _learn(state, model, placed)
        self._save(project, app, state, [*placed, *again], ())
        look = self._looks.setdefault((project, app), _Look(self._clock.monotonic()))
        look.since += sum(one.topic == NO_TOPIC for one in placed)
        if look.since >= DISCOVER_AT:
            self._look(project, app)

    def _look_overdue(self) -> None:
        now = self._clock.monotonic()
        for (project, app), look in list(self._looks.items()):
            if look.since and now - look.at >= _LOOK_EVERY_S:
                _guarded(app, partial(self._look, project, app))

    def _look(self, project: str, app: str) -> None:
        """Look through the questions without a topic for new ones."""
        self._looks[project, app] = _Look(self._clock.monotonic())
        waiting = self._feed.waiting(project, app, MAX_WAITING)
        state = self._feed.state_of(project, app)
        model = _model_of(state)
        gone = _retired(state, self._clock.now())
        model.forget(gone)
        matches = model.discover([terms_of(question.question) for question in waiting])
        new_places = [
            _placed(question, match)
            for question, match in zip(waiting, matches, strict=True)
            if match is not None
        ]
        if not new_places:
            return
        _learn(state, model, new_places)
        _name(state, new_places)
        for topic in gone:
            state.topics.pop(topic, None)
        self._save(project, app, state, new_places, gone)

    def _save(
        self,
        project: str,
        app: str,
        state: KnownApp,
        placed: Sequence[Placed],
        gone: Sequence[int],
    ) -> None:
        lease = None if self._before_save is None else self._before_save()
        self._feed.save(project, app, state, placed, gone, lease=lease)

    def _add_up(self) -> None:
        now = self._clock.monotonic()
        if now < self._added_up_at + _ADD_UP_EVERY_S:
            return
        self._added_up_at = now
        for project, app, day in self._feed.stale_days(_STALE_DAYS):
            self._feed.add_up(project, app, day)


def _guarded(app: str, work: Callable[[], None]) -> None:
    """Do it; questions of one application that it fails on hold up no other's."""
    try:
        work()
    except (StoreUnavailable, StoreDamaged, LeaseLost):
        raise  # the cursor stays
    except Exception:  # noqa: BLE001 - one odd question must not hold up other applications
        _LOG.exception("questions of app %r cannot be given topics", app)
        telemetry.dropped("topics", "failed")


def _by_app(questions: Sequence[JudgedQuestion]) -> dict[_App, list[JudgedQuestion]]:
    by_app: dict[_App, list[JudgedQuestion]] = defaultdict(list)
    for question in questions:
        by_app[question.project, question.app].append(question)
    return by_app


def _model_of(state: KnownApp) -> TopicModel:
    profiles = [TopicProfile(t.id, t.questions, dict(t.terms)) for t in state.topics.values()]
    return TopicModel(profiles, state.terms, state.questions, state.last_id)


def _placed(question: JudgedQuestion, match: Match | None) -> Placed:
    if match is None:
        return Placed(question=question, topic=NO_TOPIC)
    return Placed(question=question, topic=match.topic, similarity=match.similarity)


def _learn(state: KnownApp, model: TopicModel, placed: Sequence[Placed]) -> None:
    """Take over what the model learnt of its topics, new ones among them."""
    state.questions, state.last_id, state.terms = (
        model.questions,
        model.last_id,
        model.frequencies,
    )
    times_of: dict[int, list[datetime]] = defaultdict(list)
    for one in placed:
        times_of[one.topic].append(one.question.started_at)
    for topic, profile in model.profiles.items():
        own, times = state.topics.get(topic), times_of[topic]
        if own is None:
            own = state.topics[topic] = KnownTopic(
                id=topic,
                name="",
                words={},
                questions=0.0,
                terms={},
                first_seen=min(times),
                last_seen=max(times),
            )
        own.questions, own.terms = profile.questions, profile.counts
        own.last_seen = max([own.last_seen, *times])


def _name(state: KnownApp, new_places: Sequence[Placed]) -> None:
    """Name topics that have no name yet; those of the others stay."""
    questions: dict[int, list[str]] = defaultdict(list)
    for one in new_places:
        questions[one.topic].append(one.question.question)
    words = {
        topic.id: topic.words or words_of(questions[topic.id]) for topic in state.topics.values()
    }
    names = name_topics(words)
    for topic in state.topics.values():
        if not topic.name:
            topic.name, topic.words = names[topic.id], words[topic.id]


def _retired(state: KnownApp, now: datetime) -> list[int]:
    """Ids of quiet topics, where there is no room for new ones."""
    if len(state.topics) < MAX_TOPICS:
        return []
    return [topic.id for topic in state.topics.values() if now - topic.last_seen > _QUIET]
