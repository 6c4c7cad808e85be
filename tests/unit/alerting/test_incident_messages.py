"""The story of an incident in every channel: once, short enough, and nothing in it is trusted."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from rag_monitor.alerting.incidents.wording import sentences
from rag_monitor.alerting.messages import compose
from rag_monitor.alerting.notifiers.email import EmailNotifier, EmailOptions
from rag_monitor.alerting.notifiers.log import LogNotifier
from rag_monitor.alerting.notifiers.robot import as_markdown
from rag_monitor.domain.alert import (
    Alert,
    AlertState,
    Finding,
    Notification,
    RuleKind,
    Severity,
)
from rag_monitor.domain.fault import EvidenceKind, Fault, FaultEvidence
from rag_monitor.domain.incident import (
    Concentration,
    Example,
    FaultGrowth,
    Incident,
    IncidentAlert,
    NextStep,
    Story,
)
from rag_monitor.i18n import Message
from rag_monitor.store.alert_rows import dump_notification
from rag_monitor.testing import EPOCH
from tests.unit.alerting.test_notifiers import GOOD
from tests.unit.alerting.test_notifiers import _make as make
from tests.unit.alerting.test_notifiers import _parsed_by as parsed_by
from tests.unit.outbound.receiver import Receiver, receiving

BASE = "https://monitor.example.com"
SECRET = "what the user asked"
HOSTILE = "v2<!channel>[x](http://e.vil)@all`"


def story(**changes: Any) -> Story:
    return Story(
        **{
            "told_at": EPOCH,
            "since": EPOCH - timedelta(minutes=20),
            "first": "a0",
            "judged": 240,
            "judged_before": 1500,
            "growths": (
                FaultGrowth(
                    fault=Fault.INVENTED, share=0.31, share_before=0.04, lower=0.19, upper=0.36
                ),
            ),
            "concentrations": (
                Concentration(
                    dimension="release",
                    value=HOSTILE,
                    excess=0.52,
                    lower=0.31,
                    upper=0.68,
                    of_bad=0.94,
                    of_traffic=0.5,
                ),
            ),
            "compared": 9,
            "examples": tuple(
                Example(
                    trace_id=digit * 32,
                    fault=Fault.INVENTED,
                    probability=0.9,
                    question=SECRET,
                    evidence=(FaultEvidence(kind=EvidenceKind.STATEMENT, text=SECRET),),
                )
                for digit in "abc"
            ),
            "step": NextStep(
                key="generation.release", dimension="release", value=HOSTILE, against="v1"
            ),
            **changes,
        }
    )


def batch(count: int = 3, *, rule: str = "faithfulness drop", **changes: Any) -> list[Notification]:
    """Alerts of one incident."""
    parts = tuple(
        IncidentAlert(
            id=f"a{number}",
            rule=f"{rule} {number}",
            kind="drop",
            started_at=EPOCH,
            fired_at=EPOCH,
            broke_at=EPOCH - timedelta(minutes=20),
        )
        for number in range(count)
    )
    incident = Incident(
        id="1" * 20,
        project="default",
        app="faq",
        began_at=EPOCH - timedelta(minutes=20),
        alerts=parts,
        story=story(**changes),
    )
    return [
        Notification(
            dedup_key=f"{part.id}:firing",
            project="default",
            channel="ops",
            alert=Alert(
                id=part.id,
                project="default",
                rule=part.rule,
                app="faq",
                state=AlertState.FIRING,
                severity=Severity.PAGE,
                kind=RuleKind.DROP,
                since=EPOCH,
                started_at=EPOCH,
                fired_at=EPOCH,
                finding=Finding(
                    active=True,
                    value=0.6,
                    baseline=0.9,
                    summary=Message("no traces of {subject}", subject="faq"),
                ),
            ),
            event="firing",
            created_at=EPOCH,
            incident=incident,
        )
        for part in parts
    ]


def test_alerts_of_one_incident_are_one_item_with_one_story() -> None:
    message = compose(batch(), "en", BASE)

    (item,) = message.items
    assert message.title == "[FIRING · page] faq · 3 alerts that began together"
    text = "\n".join(item.lines)
    assert [text.count(f"faithfulness drop {number} · faq") for number in range(3)] == [1, 1, 1]
    assert text.count("broke at 2026-01-05 11:40 UTC") == 1
    assert "Invented (Generation): 4.0% → 31.0% of judged answers, +19.0 to +36.0 points" in text
    assert "94% of the bad answers, 50% of the traffic; rose 52.0 points more" in text
    assert "Next: compare release v2" in text
    assert [link.label for link in item.links] == [
        *("aaaaaaaa", "bbbbbbbb", "cccccccc"),
        *("alert", "acknowledge", "snooze 1 h", "runbook", "next step"),
    ]


def test_the_story_is_told_in_chinese() -> None:
    told = "\n".join(sentences(batch()[0].incident, "zh"))

    assert "编造" in told
    assert "下一步" in told
    for english in ("First", "Concentrated", "Next", "release ", "judged"):
        assert english not in told


def test_an_alert_that_fires_alone_tells_its_story_and_one_that_is_over_does_not() -> None:
    (alone,) = batch(1)
    over = replace(alone, event="resolved")

    assert any("Invented" in line for line in compose([alone]).items[0].lines)
    assert not any("Invented" in line for line in compose([over]).items[0].lines)


def test_other_alerts_of_the_batch_stay_for_themselves() -> None:
    alone = replace(batch(1)[0], incident=None, dedup_key="x:firing")

    message = compose([*batch(2), alone], "en", BASE)

    assert len(message.items) == 2
    assert message.title == "3 alerts: FIRING 3"


def test_no_text_of_a_trace_leaves_with_a_message() -> None:
    message = batch(1)[0]

    assert SECRET not in json.dumps(dump_notification(message), default=str)
    assert SECRET not in str(compose([message], "en", BASE))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


STORY = {"en": "Invented", "zh": "编造"}


@pytest.mark.parametrize("kind", GOOD)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_channel_tells_the_same_story(kind: str, language: str, receiver: Receiver) -> None:
    receiver.says = GOOD[kind]
    notifier = make(kind, receiver, language=language)

    notifier.send(batch(1 if notifier.max_batch == 1 else 3))

    (request,) = receiver.requests
    body = json.dumps(request.json, ensure_ascii=False)
    assert STORY[language] in body
    assert body.count("94%") == (3 if kind in ("webhook", "alertmanager") else 1)
    assert "/runbooks#drop" in body
    assert SECRET not in body


def test_the_mail_and_the_log_tell_it_too(caplog: pytest.LogCaptureFixture) -> None:
    options = EmailOptions(host="mail", sender="a@example.com", recipients=("b@example.com",))
    mail = EmailNotifier(options, language="en", public_url=BASE)._mail(batch())
    plain, rich = (part.get_content() for part in mail.iter_parts())
    with caplog.at_level(logging.WARNING):
        LogNotifier(language="en").send(batch(1))

    for text in (plain, rich, caplog.text):
        assert text.count("94% of the bad answers") == 1
    assert "<!channel>" not in rich


@pytest.mark.parametrize("kind", ["slack", "feishu", "dingtalk", "wecom"])
@pytest.mark.parametrize("count", [1, 3])
def test_what_came_with_traces_mentions_nobody(kind: str, count: int, receiver: Receiver) -> None:
    receiver.says = GOOD[kind]

    make(kind, receiver).send(batch(count))

    parsed = list(parsed_by(kind, receiver.requests[0].json))
    assert parsed
    for text in parsed:
        for danger in ("<!", "@all", "](http://", "http://e.vil"):
            assert danger not in text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_longest_story_fits_wecom_with_the_next_step(language: str) -> None:
    name = "很长的名字" * 40
    concentration = Concentration(
        dimension="knowledge_base",
        value=name,
        excess=0.523,
        lower=0.311,
        upper=0.687,
        of_bad=0.94,
        of_traffic=0.5,
    )
    growth = FaultGrowth(
        fault=Fault.KNOWLEDGE_GAP, share=0.312, share_before=0.043, lower=0.191, upper=0.362
    )
    messages = batch(
        12,
        rule=name,
        concentrations=(concentration,) * 5,
        growths=(growth,) * 5,
        step=NextStep(key="knowledge.knowledge_base", dimension="knowledge_base", value=name),
    )

    composed = compose(messages, language, BASE, detailed=1, line_chars=80)
    text = as_markdown(composed, 4096)

    assert len(text.encode()) <= 4096
    assert not text.endswith("…")
    assert "Next:" in text or "下一步" in text
    assert text.count("很长的名字") >= 12
    assert f"[aaaaaaaa]({BASE}/traces/{'a' * 32})" in text
