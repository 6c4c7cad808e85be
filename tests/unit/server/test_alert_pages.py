"""What somebody on call reads and does: figures with units, worst traces, silences, dry runs."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from rag_monitor.alerting.conditions.wording import note_text
from rag_monitor.domain.alert import AlertRule, AlertState, Finding, RuleKind, Silence
from rag_monitor.domain.stored import KeyScope
from rag_monitor.server.services import Services
from rag_monitor.testing import EPOCH
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services
from tests.unit.server.test_explore import trying
from tests.unit.server.test_pages import HTML, token_of


@pytest.fixture
async def browser(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    async with open_client(services, headers=HTML) as client:
        yield client


def fire(services: Services, rule: AlertRule, finding: Finding) -> None:
    """Only this rule fires, with this finding."""
    alerts = services.alerts.alerts  # type: ignore[attr-defined]
    services.rules.save(rule)
    first = alerts["al-1"]
    alerts.clear()
    alerts["al-1"] = replace(first, rule=rule.name, state=AlertState.FIRING, finding=finding)


async def test_the_worst_traces_of_an_alert_are_shown_by_question_and_score(
    browser: httpx.AsyncClient, services: Services
) -> None:
    alert = services.alerts.alerts["al-1"]  # type: ignore[attr-defined]
    gone = "f" * 32
    worst = (*alert.finding.worst_traces, gone)
    services.alerts.alerts["al-1"] = replace(  # type: ignore[attr-defined]
        alert, finding=replace(alert.finding, worst_traces=worst)
    )

    text = (await browser.get("/alerts")).text

    question = services.traces.get("default", worst[0]).trace.question
    assert f'<b>0.50</b> <a href="/traces/{worst[0]}">{question}</a>' in text
    assert f'<a href="/traces/{gone}"><code>ffffffff</code></a>' in text


@pytest.mark.parametrize(
    ("kind", "metric", "title"),
    [
        (RuleKind.DROP, "faithfulness", "Faithfulness over time"),
        (RuleKind.LATENCY, "end_to_end_ms", "Latency, end to end"),
        (RuleKind.ERROR_RATE, None, "Share of errors"),
        (RuleKind.TRAFFIC, None, "Traffic"),
        (RuleKind.HIT_RATE, None, None),
    ],
)
async def test_an_open_alert_shows_the_course_of_what_its_rule_looks_at(
    browser: httpx.AsyncClient,
    services: Services,
    kind: RuleKind,
    metric: str | None,
    title: str | None,
) -> None:
    fire(services, AlertRule(name="it", kind=kind, metric=metric), Finding(active=True))
    text = (await browser.get("/alerts")).text
    article = text.split('<article class="alert')[1].split("</article>")[0]

    assert ("<figure" in article) == (title is not None)
    if title is not None:
        assert title in article.split("<figcaption>")[1]
        assert '"marks":[[' in article
    assert "/compare?app=" in article


async def test_a_share_is_a_percentage_and_its_limit_reads_as_it_was_given(
    browser: httpx.AsyncClient, services: Services
) -> None:
    found = Finding(
        active=True, value=0.3, lower=0.175, upper=0.464, level=0.999, baseline=0.1, unit="share"
    )
    fire(services, AlertRule(name="it", kind=RuleKind.ERROR_RATE), found)

    article = (await browser.get("/alerts")).text.split('<article class="alert')[1]

    facts = re.findall(r"<dd>([^<]+?) ?<", article)
    assert facts[:2] == ["30.0%", "10%"]
    assert "17.5–46.4%" in article


async def test_the_worst_traces_of_all_alerts_are_asked_for_once_and_not_without_end(
    browser: httpx.AsyncClient, services: Services
) -> None:
    alerts = services.alerts.alerts  # type: ignore[attr-defined]
    first = alerts["al-1"]
    ids = tuple(f"{number:032x}" for number in range(30))
    for name, worst in (("al-1", ids[:15]), ("al-again", ids[10:])):
        finding = replace(first.finding, worst_traces=worst)
        alerts[name] = replace(first, id=name, state=AlertState.FIRING, finding=finding)

    text = (await browser.get("/alerts")).text

    (asked,) = services.traces.asked  # type: ignore[attr-defined]
    assert asked == list(ids[:20])
    assert f'<a href="/traces/{ids[29]}"><code>00000000</code></a>' in text


async def test_an_alert_on_latency_has_units_and_the_level_of_its_rule(
    browser: httpx.AsyncClient, services: Services
) -> None:
    rule = AlertRule(name="slow", kind=RuleKind.LATENCY, metric="end_to_end_ms")
    fire(
        services,
        rule,
        Finding(
            active=True,
            value=2400.0,
            lower=1900.0,
            upper=2600.0,
            level=0.999,
            baseline=840.0,
            judged=300,
            baseline_judged=280,
        ),
    )

    text = (await browser.get("/alerts")).text

    assert "<dd>2.40 s" in text
    assert "99.9% interval 1.90–2.60 s" in text
    assert "<dt>Baseline</dt><dd>840 ms</dd>" in text
    assert "<dt>Traces counted</dt>" in text


async def test_a_latency_keeps_its_unit_when_its_rule_is_gone(
    browser: httpx.AsyncClient, services: Services
) -> None:
    finding = Finding(active=True, value=2400.0, baseline=840.0, unit="ms")
    fire(services, AlertRule(name="slow", kind=RuleKind.LATENCY, metric="end_to_end_ms"), finding)
    services.rules.delete("default", "slow")

    text = (await browser.get("/alerts")).text

    assert "<dd>2.40 s" in text
    assert "<dt>Baseline</dt><dd>840 ms</dd>" in text


async def test_a_limit_is_not_called_a_baseline_and_a_count_is_no_interval(
    browser: httpx.AsyncClient, services: Services
) -> None:
    finding = Finding(active=True, value=0.0, baseline=1.0)
    fire(services, AlertRule(name="silent", kind=RuleKind.NO_DATA), finding)

    text = (await browser.get("/alerts")).text

    assert "<dd>0</dd>" in text
    assert "<dt>Limit</dt><dd>1</dd>" in text
    assert "<dt>Judged</dt>" not in text


async def test_the_times_in_a_finding_are_in_the_zone_of_the_page() -> None:
    services = make_services(timezone="Asia/Shanghai")
    summary = "fallen since 2026-01-05 11:40 UTC"
    fire(services, AlertRule(name="r", kind=RuleKind.CHANGE), Finding(active=True, summary=summary))
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/alerts")).text

    assert "fallen since 2026-01-05 19:40 Asia/Shanghai" in text


async def test_a_silence_is_planned_on_everything_with_its_reason(
    browser: httpx.AsyncClient, services: Services
) -> None:
    token = token_of((await browser.get("/alerts")).text)
    form = {"token": token, "rule": "*", "app": "*", "hours": "4", "comment": "release 2.1"}

    await browser.post("/ui/silences", data=form)
    text = (await browser.get("/alerts")).text

    (made,) = services.silences.all("default")
    assert (made.rule, made.app, made.comment) == ("*", "*", "release 2.1")
    assert ">release 2.1</td>" in text
    assert "silenced until" in text


async def test_a_silence_that_begins_later_does_not_mute_yet(
    browser: httpx.AsyncClient, services: Services
) -> None:
    services.silences.add(
        Silence(
            id="s-1",
            project="default",
            starts_at=EPOCH + timedelta(hours=1),
            ends_at=EPOCH + timedelta(hours=2),
        )
    )

    text = (await browser.get("/alerts")).text

    assert "silenced until" not in text
    assert ">from 01-05 13:00</span>" in text


async def test_a_rule_that_was_tried_can_be_saved_from_there(services: Services) -> None:
    async with open_client(trying(services), headers=HTML) as client:
        token = token_of((await client.get("/settings")).text)
        form = {
            "token": token,
            "name": "new",
            "kind": "drop",
            "metric": "faithfulness",
            "notifiers": "oncall",
            "enabled": "on",
        }
        tried = (await client.post("/ui/rules/try", data=form)).text
        await client.post("/ui/rules", data=form)
        again = (await client.post("/ui/rules/try", data=form)).text

    assert 'formaction="/ui/rules"' in tried
    assert 'name="notifiers" value="oncall"' in tried
    assert 'formaction="/ui/rules"' not in again


@pytest.mark.parametrize(
    ("app", "told"),
    [("*", False), ("loan-assistant", False), ("loan-asistant", True)],
)
async def test_a_dry_run_says_that_no_trace_is_of_the_app(
    services: Services, app: str, told: bool
) -> None:
    async with open_client(trying(services), headers=HTML) as client:
        token = token_of((await client.get("/settings")).text)
        form = {"token": token, "name": "new", "kind": "drop", "metric": "faithfulness", "app": app}
        tried = (await client.post("/ui/rules/try", data=form)).text

    assert ("No stored trace has the app loan-asistant." in tried) is told
    assert ("Did you mean loan-assistant?" in tried) is told


async def test_the_other_language_of_a_page_that_a_form_made_is_the_settings(
    services: Services,
) -> None:
    async with open_client(trying(services), headers=HTML) as client:
        token = token_of((await client.get("/settings")).text)
        form = {"token": token, "name": "faithfulness drop"}
        tried = (await client.post("/ui/rules/try", data=form)).text

    assert 'href="/settings?lang=zh"' in tried


async def test_a_replay_is_told_in_the_readers_language(services: Services) -> None:
    chosen = trying(services)
    told = chosen.replay_rule

    def in_both(rule, since, until, bounds=None):  # type: ignore[no-untyped-def]
        found = told(rule, since, until)  # type: ignore[misc]
        (app,) = found.apps.values()
        episode = replace(app.episodes[0], summary_zh="faithfulness 下降")
        return replace(found, apps={"loan-assistant": replace(app, episodes=(episode,))})

    async with open_client(replace(chosen, replay_rule=in_both), headers=HTML) as client:
        token = token_of((await client.get("/alerts?lang=zh")).text)
        form = {"token": token, "name": "faithfulness drop", "days": "1"}
        text = (await client.post("/ui/rules/try", data=form)).text

    assert "忠实度下降" in text
    assert "fell</td>" not in text


@pytest.mark.parametrize("scope", [KeyScope.READ, KeyScope.WRITE])
async def test_who_may_only_look_is_offered_nothing_else(locked: Services, scope: KeyScope) -> None:
    secret, _ = locked.keys.create("default", "k", {KeyScope.READ, scope})
    trace = next(iter(locked.traces.stored))[1]  # type: ignore[attr-defined]
    async with open_client(locked, headers=HTML | {"x-api-key": secret}) as client:
        pages = [
            (await client.get(path)).text for path in ("/alerts", "/settings", f"/traces/{trace}")
        ]

    offered = ("/ui/alerts/act", 'action="/ui/silences"', ">Save</button>", "/ui/feedback")
    there = [any(form in page for page in pages) for form in offered]
    assert there == [scope is KeyScope.WRITE] * len(offered)


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_names_of_rules_are_escaped_once_on_every_page(
    services: Services, language: str
) -> None:
    name = "贷款 & <b>'s"
    rule = AlertRule(name=name, kind=RuleKind.DROP, metric="faithfulness")
    fire(services, rule, Finding(active=True, summary="<&>"))
    async with open_client(trying(services), headers=HTML) as client:
        listed = await client.get("/alerts", params={"lang": language})
        form = {"token": token_of(listed.text), "name": name, "days": "1"}
        tried = await client.post("/ui/rules/try", data=form)
        edited = await client.get("/settings", params={"rule": name})
        overview = await client.get("/")

    said = "试运行：" if language == "zh" else "Dry run: "
    assert f"<h1>{said}贷款 &amp; &lt;b&gt;&#39;s</h1>" in tried.text
    for page in (listed, tried, edited, overview):
        assert "贷款 &amp; &lt;b&gt;&#39;s" in page.text or page is overview
        assert not re.search(r"&amp;(?:amp|lt|gt|quot|#\d+);", page.text)


async def test_what_the_sentence_of_a_finding_says_is_not_said_again(services: Services) -> None:
    found = Finding(
        active=None,
        judged=3,
        summary="faithfulness cannot be told: 3 judged, 30 are needed (few judged)",
        notes=("few_judged", "embedded_uncorrected"),
    )
    fire(services, AlertRule(name="r", kind=RuleKind.DROP, metric="faithfulness"), found)
    chosen = replace(trying(services), try_rule=lambda rule: {"loan-assistant": found})
    async with open_client(chosen, headers=HTML) as client:
        listed = (await client.get("/alerts")).text
        form = {"token": token_of(listed), "name": "r"}
        tried = (await client.post("/ui/rules/try", data=form)).text

    for text in (listed.partition('id="untold"')[0], tried):
        assert text.count("few judged") == 1
        assert text.count(note_text("embedded_uncorrected", "en")) == 1
