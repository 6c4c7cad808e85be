"""Rules, alerts, outbox, feedback, keys, leases, budgets, replies, retention, on each database."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import update

from rag_monitor.aggregation.estimates import Estimates
from rag_monitor.aggregation.rollup import summarise
from rag_monitor.domain.alert import (
    Alert,
    AlertRule,
    AlertState,
    Finding,
    Notification,
    RuleKind,
    Severity,
    Silence,
)
from rag_monitor.domain.feedback import Feedback
from rag_monitor.domain.rating import RatingKind
from rag_monitor.domain.rollup import SATISFACTION_METRIC, Rollup, RollupKey, RollupQuery
from rag_monitor.domain.selection import Selection
from rag_monitor.domain.stored import KeyScope, RetentionPolicy, TraceQuery
from rag_monitor.domain.window import Window
from rag_monitor.errors import LeaseLost, NotFound, RuleError
from rag_monitor.exposition.snapshot import build
from rag_monitor.store.store import Store
from rag_monitor.store.tables import secrets
from rag_monitor.testing import EPOCH, ManualClock, make_trace
from tests.contract.evidence import blob, ingest, write

RULE = AlertRule(
    name="下降",
    kind=RuleKind.DROP,
    metric="faithfulness",
    params={"min_drop": 0.1},
    notifiers=("c",),
)
ALERT = Alert(
    id="a1",
    project="default",
    rule="下降",
    app="app",
    state=AlertState.FIRING,
    severity=Severity.TICKET,
    since=EPOCH,
    started_at=EPOCH,
    fired_at=EPOCH,
    finding=Finding(
        active=True, value=0.5, level=0.95, onset_at=EPOCH, worst_traces=("t",), notes=("n",)
    ),
)
NOTE = Notification(
    dedup_key="k", project="default", channel="c", alert=ALERT, event="firing", created_at=EPOCH
)


def test_a_renamed_rule_takes_its_silences_along(store: Store) -> None:
    now = EPOCH
    store.rules.save(RULE)
    muted = (("a", "default", RULE.name), ("b", "default", "*"), ("c", "p", RULE.name))
    for id_, project, rule in muted:
        store.silences.add(
            Silence(id=id_, project=project, rule=rule, app="*", starts_at=now, ends_at=now)
        )

    store.rules.rename(RULE.name, replace(RULE, name="new", min_judged=9))

    assert store.rules.all("default") == [replace(RULE, name="new", min_judged=9)]
    assert {s.id: s.rule for s in store.silences.all()} == {"a": "new", "b": "*", "c": RULE.name}


def test_of_two_who_rename_only_one_does(store: Store) -> None:
    store.rules.save(RULE)
    store.rules.save(replace(RULE, name="other"))
    store.rules.rename(RULE.name, replace(RULE, name="new"))

    with pytest.raises(NotFound):  # the same rule to another name
        store.rules.rename(RULE.name, replace(RULE, name="newer"))
    with pytest.raises(RuleError, match="another rule is called 'new'"):  # another to that name
        store.rules.rename("other", replace(RULE, name="new", min_judged=77))

    assert [rule.name for rule in store.rules.all("default")] == ["new", "other"]
    assert store.rules.all("default")[0].min_judged == RULE.min_judged


def test_default_rules_that_were_deleted_are_not_shipped_again(store: Store) -> None:
    assert store.rules.ship("default", [RULE])
    store.rules.delete("default", RULE.name)

    assert not store.rules.ship("default", [RULE])
    assert store.rules.all("default") == []


def test_a_rule_that_a_newer_release_ships_is_added_to_what_is_left(store: Store) -> None:
    other, new = replace(RULE, name="other", shipped=True), replace(RULE, name="new", shipped=True)
    store.rules.ship("default", [replace(RULE, shipped=True), other])
    store.rules.delete("default", RULE.name)

    assert store.rules.ship("default", [replace(RULE, shipped=True), other, new])
    assert [rule.name for rule in store.rules.all("default")] == ["new", "other"]
    assert not store.rules.ship("default", [replace(RULE, shipped=True), other, new])


def test_a_project_without_shipped_rules_stays_without_those_of_a_newer_release(
    store: Store,
) -> None:
    store.rules.ship("default", [replace(RULE, shipped=True)])
    store.rules.delete("default", RULE.name)
    own = replace(RULE, name="own")
    store.rules.save(own)

    assert not store.rules.ship("default", [replace(RULE, name="new", shipped=True)])
    assert store.rules.all("default") == [own]


def test_rules_that_somebody_put_in_first_are_joined_by_none(store: Store) -> None:
    store.rules.ship("default", ())
    copied = replace(RULE, name="copied", shipped=True)
    store.rules.save(copied)

    assert not store.rules.ship("default", [replace(RULE, shipped=True)])
    assert store.rules.all("default") == [copied]


def test_the_mark_of_an_earlier_release_stands_for_what_that_one_shipped(store: Store) -> None:
    kept = replace(RULE, name="faithfulness drop", shipped=True)
    new = replace(RULE, name="new", shipped=True)
    store.rules.ship("default", [kept])
    with store._database.write() as connection:
        connection.execute(update(secrets).values(value=b""))

    assert store.rules.ship("default", [kept, replace(kept, name="no data"), new])
    assert [rule.name for rule in store.rules.all("default")] == ["faithfulness drop", "new"]


def test_rules_are_saved_replaced_and_deleted_per_project(store: Store) -> None:
    store.rules.save(RULE)
    store.rules.save(replace(RULE, project="other"))
    store.rules.save(replace(RULE, min_judged=7))

    assert store.rules.all("default") == [replace(RULE, min_judged=7)]
    assert len(store.rules.all()) == 2
    store.rules.delete("default", RULE.name)
    assert store.rules.all("default") == []
    with pytest.raises(NotFound):
        store.rules.delete("default", RULE.name)


def test_an_alert_and_its_message_are_saved_together(store: Store) -> None:
    store.alerts.save([ALERT], [NOTE, NOTE])
    store.alerts.save([], [NOTE])

    assert store.alerts.load("default") == [ALERT]
    assert store.alerts.load("default", AlertState.RESOLVED) == []
    assert store.alerts.load("other") == []
    assert store.outbox.due(EPOCH) == [replace(NOTE, attempts=1)]


def test_an_acknowledgement_survives_the_engines_next_save(store: Store) -> None:
    store.alerts.save([ALERT], [])
    store.alerts.acknowledge("default", "a1", "ann")

    store.alerts.save([replace(ALERT, state=AlertState.RESOLVED)], [])

    (alert,) = store.alerts.load("default")
    assert (alert.state, alert.acknowledged_by) == (AlertState.RESOLVED, "ann")
    assert alert.acknowledged_at == EPOCH
    with pytest.raises(NotFound):
        store.alerts.acknowledge("other", "a1", "eve")


def test_a_message_is_offered_until_it_is_sent(store: Store) -> None:
    store.alerts.save([], [NOTE])
    (first,) = store.outbox.due(EPOCH, lease_s=60)

    assert store.outbox.due(EPOCH + timedelta(seconds=59)) == []
    store.outbox.failed(first, "500", EPOCH + timedelta(seconds=5))
    (second,) = store.outbox.due(EPOCH + timedelta(seconds=5))
    assert second.attempts == 2
    store.outbox.sent(second)

    assert store.outbox.due(EPOCH + timedelta(days=1)) == []
    assert store.outbox.waiting() == 0


def test_an_end_is_never_offered_before_its_beginning(store: Store) -> None:
    """The channel was away when it fired, and rests while it resolves."""
    fired = replace(NOTE, dedup_key="a1:firing")
    ended = replace(NOTE, dedup_key="a1:resolved", event="resolved")
    other = replace(NOTE, dedup_key="a2:firing")
    elsewhere = replace(ended, channel="d")
    store.alerts.save([], [fired])
    (first,) = store.outbox.due(EPOCH)
    store.outbox.failed(first, "500", EPOCH + timedelta(seconds=45))
    store.alerts.save([], [ended, other, elsewhere])

    early = store.outbox.due(EPOCH + timedelta(seconds=10))
    late = store.outbox.due(EPOCH + timedelta(seconds=45))

    assert [(item.dedup_key, item.channel) for item in early] == [
        ("a2:firing", "c"),
        ("a1:resolved", "d"),
    ]
    assert [item.dedup_key for item in late] == ["a1:firing", "a1:resolved"]


def test_what_was_announced_of_an_alert_is_told_oldest_first(store: Store) -> None:
    fired = replace(NOTE, dedup_key="a_1:firing")
    repeated = replace(NOTE, dedup_key="a_1:repeat-1", event="repeat", channel="d")
    others = (replace(fired, dedup_key="ab1:firing"), replace(fired, project="other"))
    store.alerts.save([], [fired, repeated, *others])
    for item in store.outbox.due(EPOCH):
        (store.outbox.sent if item.channel == "c" else partial(store.outbox.dead, error="x"))(item)

    told = store.outbox.about("default", "a_1")

    assert [(one.channel, one.event, one.sent_at, one.given_up) for one in told] == [
        ("c", "firing", EPOCH, False),
        ("d", "repeat", None, True),
    ]
    assert [one.event for one in store.outbox.about("default", "a_1", limit=1)] == ["repeat"]
    assert store.outbox.about("default", "a") == []


def test_silences_come_and_go(store: Store) -> None:
    silence = Silence(
        id="s", project="default", starts_at=EPOCH, ends_at=EPOCH + timedelta(hours=1)
    )
    store.silences.add(silence)

    assert store.silences.all("default") == [silence]
    store.silences.delete("default", "s")
    with pytest.raises(NotFound):
        store.silences.delete("default", "s")


def test_the_newest_mark_of_a_person_counts(store: Store) -> None:
    mark = Feedback(project="default", trace_id="t", value=1.0, author="ann", created_at=EPOCH)
    newer = replace(mark, value=0.0, comment="不对")
    anonymous = replace(mark, author=None)
    for item in (mark, newer, anonymous, anonymous):
        store.feedback.add(item)

    assert store.feedback.for_traces("default", ["t", "u"]) == {"t": [newer, anonymous, anonymous]}
    assert store.feedback.for_traces("other", ["t"]) == {}


def test_feedback_makes_the_minute_of_its_trace_dirty(store: Store) -> None:
    trace = make_trace()
    ingest(store, trace)
    store.rollups.replace(store.rollups.changed(), [])

    store.feedback.add(
        Feedback(project="default", trace_id=trace.trace_id, value=1.0, created_at=EPOCH)
    )

    assert [item.minute for item in store.rollups.changed()] == [EPOCH]


def test_labels_of_people_are_among_the_facts_of_their_minute(store: Store) -> None:
    trace = make_trace()
    ingest(store, trace)
    mark = Feedback(
        project="default",
        trace_id=trace.trace_id,
        value=1.0,
        metric="faithfulness",
        author="ann",
        created_at=EPOCH,
    )
    for one in (
        mark,
        replace(mark, value=0.0, created_at=EPOCH + timedelta(minutes=1)),  # changed her mind
        replace(mark, author="bob"),
        replace(mark, metric=None),
        replace(mark, metric="relevance", statement=2),
    ):
        store.feedback.add(one)

    (facts,) = store.rollups.facts(store.rollups.changed())

    assert facts.labels == {"faithfulness": 0.5}


def test_a_rating_is_what_users_say_and_no_label(store: Store) -> None:
    trace = make_trace()
    ingest(store, trace)
    stars = Feedback(
        project="default",
        trace_id=trace.trace_id,
        value=0.75,
        kind=RatingKind.SCALE,
        raw_value=4,
        scale=5,
        corrected_answer="利率为 4.5 %",
        correct_document_ids=("rates", "fees"),
        author="ann",
        created_at=EPOCH,
    )
    mark = Feedback(
        project="default",
        trace_id=trace.trace_id,
        value=0.0,
        metric="faithfulness",
        author="ann",
        created_at=EPOCH,
    )
    store.feedback.add(stars)

    (facts,) = store.rollups.facts(store.rollups.changed())
    assert facts.labels == {}
    assert [(s.metric, s.value, s.judge) for s in facts.scores] == [
        ("satisfaction_rate", 1.0, None)
    ]

    store.feedback.add(mark)
    (facts,) = store.rollups.facts(store.rollups.changed())
    assert facts.labels == {"faithfulness": 0.0}
    assert [(s.metric, s.value) for s in facts.scores] == [("satisfaction_rate", 1.0)]
    assert store.feedback.for_traces("default", [trace.trace_id]) == {trace.trace_id: [stars, mark]}


def test_satisfaction_is_estimated_from_rated_traces_alone(store: Store) -> None:
    traces = [make_trace(id=str(number)) for number in range(80)]
    ingest(store, *traces)
    for number, trace in enumerate(traces[:60]):
        store.feedback.add(
            Feedback(
                project="default",
                trace_id=trace.trace_id,
                value=float(number < 45),
                kind=RatingKind.THUMB,
                raw_value=number < 45,
                created_at=EPOCH,
            )
        )
    changed = store.rollups.changed()
    store.rollups.replace(changed, summarise(store.rollups.facts(changed)))

    selection = Selection(
        project="default",
        app=traces[0].app,
        window=Window(EPOCH - timedelta(hours=1), EPOCH + timedelta(hours=1)),
    )
    estimates = Estimates(store.rollups)
    series = selection.series(SATISFACTION_METRIC, "combined")
    rate = estimates.estimate(series, selection.window)

    assert (rate.traces, rate.judged, rate.value) == (80, 60, 0.75)
    assert (rate.lower, rate.upper) == (
        pytest.approx(0.6275, abs=2e-3),
        pytest.approx(0.842, abs=2e-3),
    )
    assert [(s.metric, s.judge) for s in estimates.judged_series(selection)] == [
        ("satisfaction_rate", "combined")
    ]
    shown = build(estimates, [("default", traces[0].app)], EPOCH).scores
    assert [(p.release, p.metric, p.judge, p.value, p.samples) for p in shown] == [
        (None, "satisfaction_rate", "combined", 0.75, 60),
        (traces[0].release or "", "satisfaction_rate", "combined", 0.75, 60),
    ]


def test_a_key_opens_until_it_is_revoked_or_expires(store: Store, clock: ManualClock) -> None:
    text, key = store.keys.create("p", "ci", {KeyScope.INGEST})
    short, _ = store.keys.create("p", "x", [KeyScope.ADMIN], expires_at=EPOCH + timedelta(hours=1))

    found = store.keys.authenticate(text)
    assert found is not None
    assert (found.id, found.project) == (key.id, "p")
    assert found.allows(KeyScope.INGEST)
    assert not found.allows(KeyScope.READ)
    assert store.keys.authenticate(text + "x") is None
    assert store.keys.authenticate("\ud800") is None
    assert store.keys.authenticate(short).allows(KeyScope.READ)
    clock.advance(3600)
    assert store.keys.authenticate(short) is None
    assert store.keys.find(short).expires_at == clock.now()
    assert store.keys.find(short + "x") is None
    assert store.keys.list("p")[0].last_used_at == EPOCH
    assert store.keys.list("q") == []
    with pytest.raises(NotFound):
        store.keys.revoke("q", key.id)
    store.keys.revoke("p", key.id)
    assert store.keys.authenticate(text) is None
    assert store.keys.find(text).revoked_at == clock.now()


def test_secrets_stay_the_same(store: Store) -> None:
    assert store.keys.secret("sessions") == store.keys.secret("sessions")
    assert store.keys.secret("sessions") != store.keys.secret("other")


def test_one_owner_holds_a_lease_and_the_token_grows(store: Store) -> None:
    first = store.leases.acquire("leader", "a", 60)

    assert first is not None
    assert store.leases.acquire("leader", "b", 60) is None
    again = store.leases.acquire("leader", "a", 60)
    assert again is not None
    assert again.token == first.token
    assert store.leases.renew(first, 60).token == first.token
    store.leases.release(first)
    second = store.leases.acquire("leader", "b", 0)
    third = store.leases.acquire("leader", "c", 60)
    assert second is not None
    assert third is not None
    assert first.token < second.token < third.token
    with pytest.raises(LeaseLost):
        store.leases.renew(second, 60)


def test_a_lease_given_by_a_clock_that_was_set_back_since_is_free(store: Store) -> None:
    first = store.leases.acquire("leader", "died when the clock was hours ahead", 8 * 3600)

    assert first is not None
    assert store.leases.acquire("leader", "b", 3600) is None, "it may well be held"
    second = store.leases.acquire("leader", "b", 10)
    assert second is not None
    assert second.token > first.token


def test_the_first_reply_stays(store: Store) -> None:
    assert store.replies.get("k") is None
    store.replies.put("k", "one", project="p", trace_id="t")
    store.replies.put("k", "two", project="p", trace_id="u")

    assert store.replies.get("k") == "one"


def test_retention_forgets_old_traces_and_keeps_new_ones(store: Store) -> None:
    old, new = make_trace("old", "x", ("p",), id="o"), make_trace("new", id="n")
    late = EPOCH + timedelta(days=31)
    ingest(store, old)
    ingest(store, new, at=late)

    report = store.retention.run(late, RetentionPolicy(batch=1))

    page = store.traces.search(TraceQuery(project="default"))
    assert [item.question for item in page.items] == ["new"]
    assert store.spans.blobs("default", old.trace_id) == ()
    assert report.traces == 1
    assert write(store, blob(old.trace_id, b"v1"), at=late).new == 1


def test_the_newest_day_survives_retention_by_size(store: Store) -> None:
    ingest(store, make_trace("old", id="o"))
    later = EPOCH + timedelta(days=2)
    ingest(store, make_trace("new", id="n"), at=later)

    store.retention.run(later, RetentionPolicy(max_bytes=1))

    page = store.traces.search(TraceQuery(project="default"))
    assert [item.question for item in page.items] == ["new"]
    assert store.retention.size_bytes() > 1


def test_a_worker_that_was_held_up_does_not_put_older_rollups_back(store: Store) -> None:
    ingest(store, make_trace())
    seen_by_both = store.rollups.changed()
    key = RollupKey(project="default", app="test-app", metric="traces", minute=EPOCH)
    store.rollups.replace(seen_by_both, [Rollup(key=key, count=2)])

    store.rollups.replace(seen_by_both, [Rollup(key=key, count=1)])

    (row,) = store.rollups.load(
        RollupQuery(project="default", window=Window(EPOCH, EPOCH + timedelta(minutes=1)))
    )
    assert row.count == 2
