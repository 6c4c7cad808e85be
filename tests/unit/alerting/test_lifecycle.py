"""An alert's life, step by step, and what holds for every life there can be."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from rag_monitor.alerting.lifecycle import Event, dedup_key, muted, retire, step
from rag_monitor.domain.alert import Alert, AlertRule, AlertState, Finding, RuleKind, Silence
from rag_monitor.testing import EPOCH

RULE = AlertRule(name="r", kind=RuleKind.NO_DATA, hold_for_s=60, keep_firing_s=120, repeat_s=600)


class _Life:
    """Steps one rule on one app through slots of 30 seconds."""

    def __init__(self, rule: AlertRule = RULE) -> None:
        self.rule = rule
        self.now = EPOCH
        self.alert: Alert | None = None
        self.events: list[tuple[str, str]] = []
        self.ended: list[Alert] = []

    def see(self, active: bool | None, times: int = 1, *, mute: bool = False) -> _Life:
        for _ in range(times):
            moved = step(self.rule, "app", self.alert, Finding(active=active), self.now, mute=mute)
            if moved.event is not None and moved.alert is not None:
                key = dedup_key(self.rule, moved.alert, moved.event, self.now)
                self.events.append((moved.event.value, key))
            self.alert = moved.alert
            if self.alert and self.alert.state in (AlertState.RESOLVED, AlertState.INACTIVE):
                self.ended.append(self.alert)
                self.alert = None
            self.now += timedelta(seconds=30)
        return self

    @property
    def state(self) -> AlertState | None:
        return self.alert.state if self.alert else None

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.events]


def test_it_fires_only_after_it_held() -> None:
    life = _Life()

    assert life.see(True, 2).state is AlertState.PENDING
    assert life.kinds == []
    assert life.see(True).state is AlertState.FIRING
    assert life.kinds == ["firing"]


def test_without_a_hold_it_fires_at_once() -> None:
    assert _Life(replace(RULE, hold_for_s=0)).see(True).kinds == ["firing"]


def test_what_clears_while_pending_was_nothing() -> None:
    life = _Life().see(True).see(False)

    assert life.events == []
    assert [alert.state for alert in life.ended] == [AlertState.INACTIVE]


def test_it_resolves_only_after_it_was_clear_for_a_while() -> None:
    life = _Life().see(True, 3).see(False, 4)
    assert life.state is AlertState.FIRING

    life.see(False)

    assert life.kinds == ["firing", "resolved"]
    assert life.ended[0].resolved_at == life.now - timedelta(seconds=30)


def test_what_made_it_fire_can_be_read_when_it_is_over() -> None:
    rule = replace(RULE, hold_for_s=0, keep_firing_s=0)
    fired = step(rule, "a", None, Finding(active=True, summary="sent 0"), EPOCH, mute=False).alert
    later = EPOCH + timedelta(seconds=60)
    over = step(rule, "a", fired, Finding(active=False, summary="sent 1"), later, mute=False).alert

    assert over is not None
    assert over.state is AlertState.RESOLVED
    assert (over.cause.summary, over.finding.summary) == ("sent 0", "sent 1")


def test_flapping_stays_one_alert() -> None:
    life = _Life().see(True, 3)

    for _ in range(50):
        life.see(False, 2).see(True)

    assert life.kinds.count("firing") == 1
    assert "resolved" not in life.kinds


def test_what_cannot_be_told_moves_nothing() -> None:
    life = _Life().see(None, 5)
    assert life.alert is None

    life.see(True, 3).see(None, 5)

    assert life.state is AlertState.FIRING
    assert life.alert is not None
    assert life.alert.finding.active is True


def test_it_is_repeated_until_somebody_acknowledges() -> None:
    life = _Life().see(True, 3 + 20)
    assert life.kinds == ["firing", "repeat"]

    assert life.alert is not None
    life.alert = replace(life.alert, acknowledged_by="mei")
    life.see(True, 60).see(False, 5)

    assert life.kinds == ["firing", "repeat", "resolved"]


def test_a_silence_postpones_the_announcement() -> None:
    life = _Life().see(True, 10, mute=True)
    assert life.state is AlertState.FIRING
    assert life.events == []

    life.see(True)

    assert life.kinds == ["firing"]


def test_what_nobody_heard_of_ends_without_a_word() -> None:
    life = _Life().see(True, 5, mute=True).see(False, 5, mute=True)

    assert life.events == []
    assert life.ended[0].state is AlertState.RESOLVED


def test_a_resolution_under_a_silence_is_owed_and_the_alert_does_not_rest() -> None:
    life = _Life().see(True, 3).see(False, 5, mute=True)
    resolved = life.ended[0]
    later = resolved.since + timedelta(days=9)

    assert retire(resolved, later, 60.0) is resolved
    told = replace(resolved, last_announced_at=later)
    assert retire(told, later, 60.0).state is AlertState.INACTIVE


def test_a_new_episode_has_a_new_id_and_the_same_slot_the_same() -> None:
    first, again, other = _Life(), _Life(), _Life()
    first.see(True, 3)
    again.see(True, 3)
    other.see(False).see(True, 3)

    assert first.events == again.events
    assert first.events != other.events


def test_a_clock_that_was_set_back_loses_no_resolution() -> None:
    life = _Life().see(True, 3)
    life.now -= timedelta(hours=1)
    life.see(False, 20)
    assert life.state is AlertState.FIRING

    life.now += timedelta(hours=1)
    life.see(False, 5)

    assert life.kinds == ["firing", "resolved"]


def test_a_silence_matches_by_project_rule_app_and_time() -> None:
    silence = Silence(
        id="s",
        project="default",
        rule="r",
        app="*",
        starts_at=EPOCH,
        ends_at=EPOCH + timedelta(hours=1),
    )

    assert muted([silence], RULE, "any", EPOCH)
    assert not muted([silence], RULE, "any", silence.ends_at)
    assert not muted([silence], replace(RULE, name="other"), "any", EPOCH)
    assert not muted([replace(silence, project="b")], RULE, "any", EPOCH)
    assert not muted([replace(silence, app="x")], RULE, "any", EPOCH)
    assert muted([replace(silence, rule="*")], replace(RULE, name="other"), "any", EPOCH)


_LOOKS = st.lists(
    st.tuples(st.sampled_from([True, False, None]), st.booleans()), min_size=1, max_size=120
)
_RULES = st.builds(
    AlertRule,
    name=st.just("r"),
    kind=st.just(RuleKind.NO_DATA),
    hold_for_s=st.sampled_from([0.0, 30.0, 90.0]),
    keep_firing_s=st.sampled_from([0.0, 30.0, 120.0]),
    repeat_s=st.sampled_from([0.0, 60.0, 300.0]),
)


@given(rule=_RULES, looks=_LOOKS)
def test_no_announcement_is_lost_or_doubled(
    rule: AlertRule, looks: list[tuple[bool | None, bool]]
) -> None:
    """Whatever is seen and silenced: at most one firing and one resolved per alert, in order."""
    life = _Life(rule)
    for active, mute in looks:
        life.see(active, mute=mute)
    life.see(True, 5)  # everything unsilenced and firing

    keys = [key for _, key in life.events]
    assert len(keys) == len(set(keys))
    told: dict[str, list[str]] = {}
    for kind, key in life.events:
        told.setdefault(key.split(":")[0], []).append(kind)
    for kinds in told.values():
        assert kinds[0] == Event.FIRING
        assert kinds.count(Event.FIRING) == 1
        assert kinds.count(Event.RESOLVED) <= 1
        assert Event.RESOLVED not in kinds[:-1]
    assert life.state is AlertState.FIRING
    assert life.alert is not None
    assert life.alert.id in told


@given(rule=_RULES, looks=_LOOKS)
def test_a_look_repeated_in_the_same_slot_changes_and_announces_nothing(
    rule: AlertRule, looks: list[tuple[bool | None, bool]]
) -> None:
    life = _Life(rule)
    for active, mute in looks:
        at = life.now
        life.see(active, mute=mute)
        if life.alert is None:
            continue
        again = step(rule, "app", life.alert, Finding(active=active), at, mute=mute)
        assert again.alert == life.alert
        assert again.event is None
