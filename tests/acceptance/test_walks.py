"""Three people walk through the product: an engineer, an operator, and a lead who reads Chinese.

Each begins at one address and goes on by what the pages offer; no step is more than two clicks.
Every number they read is held against the API.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rag_monitor.charts.numbers import change_text, count_text, figure_text, score_text
from rag_monitor.i18n import Message, translate
from rag_monitor.metrics.fault_words import EVIDENCE, FAULTS
from rag_monitor.offline.golden import golden_rows
from tests.acceptance.browsing import PATIENCE_MS, ROOT, chromium
from tests.acceptance.running import Monitor, eventually
from tests.acceptance.walking import OPERATOR, Project, walking
from tests.log_sink import LogSink

if TYPE_CHECKING:
    from playwright.sync_api import Browser

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
expect = playwright.expect
expect.set_options(timeout=PATIENCE_MS)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CHANNEL = """
public_url = "{url}"
[notifiers.chat]
kind = "slack"
url = "{hook}"
allow_private = true
"""
QUICK = {
    "RAG_MONITOR_API_KEY": OPERATOR,
    "RAG_MONITOR_WORKER_RULES_EVERY_S": "1",
    "RAG_MONITOR_ALERTS_SLOT_S": "1",
    "RAG_MONITOR_WORKER_DELIVER_EVERY_S": "0.5",
    "RAG_MONITOR_SAMPLING_HUMAN_RATE": "1",
}
MINUTE_S = 60.0


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def chat() -> Iterator[LogSink]:
    """The room to which messages go."""
    with LogSink() as room:
        room.reply = b"ok"
        yield room


@pytest.fixture(scope="module")
def monitor(chat: LogSink, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitor]:
    folder: Path = tmp_path_factory.mktemp("walks")
    running = Monitor(folder, f"sqlite:///{folder / 'monitor.db'}", **QUICK)
    configuration = CHANNEL.format(url=running.url, hook=chat.url)
    (folder / "rag_monitor.toml").write_text(configuration, "utf-8")
    try:
        running.start()
        yield running
    finally:
        running.kill()


def lamp(n: int) -> tuple[str, str]:
    """A question, and the passage that answers it."""
    return (
        f"How long is the warranty of lamp {n}?",
        f"The warranty of lamp {n} lasts {24 + n} months.",
    )


def test_an_engineer_walks_from_the_empty_page_to_a_golden_question(
    browser: Browser, monitor: Monitor, tmp_path: Path
) -> None:
    project = Project(monitor, "engineering")
    with walking(browser, monitor.url, "engineer") as walk:
        page = walk.page
        walk.sign_in(project)
        expect(page.get_by_role("heading", name="No traces yet")).to_be_visible()
        walk.at("empty page")

        walk.press("Copy")
        snippet = page.evaluate("navigator.clipboard.readText()")
        assert snippet == page.locator("#snippet").inner_text()
        first_questions(snippet, project)
        app = page.get_by_role("heading", name="my-app")
        expect(app).to_be_visible()  # the page refreshes itself
        eventually(lambda: project.estimate("my-app", "1h").get("judged") == ASKED)
        tile = page.locator(
            ".tile", has=page.get_by_role("heading", name="Faithfulness", exact=True)
        )
        expect(tile).to_contain_text(f"{ASKED} judged")
        estimate = project.estimate("my-app", "1h")
        expect(tile.locator(".value")).to_have_text(score_text(estimate["value"]))
        walk.at("first traces")

        walk.link("Worst traces")
        first = page.locator("a.tracerow").first
        expect(first).to_contain_text(lamp(INVENTED)[0])
        worst = project.get("/api/v1/traces?metric=faithfulness&sort=score&order=asc&limit=1")
        (found,) = worst["items"]
        chip = first.locator(".chip", has_text="Faithfulness")
        expect(chip).to_contain_text(score_text(found["scores"]["faithfulness"]))
        walk.at("worst traces")

        walk.click(first)
        told = project.get(f"/api/v1/traces/{found['trace_id']}")
        verdict, fault = page.locator("mark.unsupported").first, page.locator("#fault")
        expect(verdict).to_contain_text("900 months")
        (diagnosis,) = told["faults"]
        expect(fault).to_contain_text(FAULTS[diagnosis["fault"]])
        expect(fault).to_contain_text(f"p = {score_text(diagnosis['probability'])}")
        evidence = fault.get_by_text(EVIDENCE[diagnosis["evidence"][0]["kind"]]).first
        for what in (verdict, fault.locator("p b").first, evidence):
            assert walk.on_first_screen(what)
        walk.at("why")

        walk.press(re.compile("bad$"))
        expect(page.get_by_role("status")).to_contain_text("Thank you")
        expect(page.locator("#feedback .marks li")).to_contain_text("bad · Faithfulness")
        walk.at("marked")

        truth = lamp(INVENTED)[1]
        walk.click(page.get_by_text("Mark something else, or say why"))
        page.get_by_label("What the answer should have been").fill(truth)
        walk.click(page.locator("#feedback form").last.get_by_role("button", name="✗ bad"))
        expect(page.locator("#feedback .correction")).to_contain_text(truth)
        marks = project.get(f"/api/v1/traces/{found['trace_id']}")["feedback"]
        assert [(one["value"], one["corrected_answer"]) for one in marks][-1] == (0.0, truth)
        walk.at("corrected")

        walk.click(page.get_by_text("Take along"))
        walk.click(page.locator("#take-along .snippet").last.get_by_role("button", name="Copy"))
        golden = tmp_path / "golden.jsonl"
        golden.write_text(page.evaluate("navigator.clipboard.readText()"), "utf-8")
        asked = {"id": found["trace_id"], "question": lamp(INVENTED)[0], "reference": truth}
        assert list(golden_rows(golden)) == [asked]
        walk.at("golden question")


ASKED = 8
INVENTED = 5
"""The lamp of which the application invents a number."""
AROUND = """
import asyncio, sys

async def search(question):
    return [passages[question], "Parcels leave the warehouse on Mondays."]

async def llm(question, documents):
    for word in answers[question].split(" "):
        yield word + " "

passages, answers = {passages!r}, {answers!r}
{snippet}

async def main():
    for question in passages:
        print("".join([chunk async for chunk in answer(question)]))

asyncio.run(main())
"""


def first_questions(snippet: str, project: Project) -> None:
    """Run the lines of the page inside an application, and ask it."""
    passages = dict(lamp(n) for n in range(ASKED))
    answers = passages | {lamp(INVENTED)[0]: f"The warranty of lamp {INVENTED} lasts 900 months."}
    program = AROUND.format(passages=passages, answers=answers, snippet=snippet)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RAG_MONITOR_API_KEY": project.key}
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60, env=environment)


RULE = "faithfulness drop"
DROP = {
    "name": RULE,
    "kind": "drop",
    "metric": "faithfulness",
    "window_s": 3600,
    "hold_for_s": 0,
    "min_judged": 20,
}
FELL = 60
"""Traces before the fall, and after it."""


def test_an_operator_walks_from_a_fall_to_silence_and_a_tuned_rule(
    browser: Browser, monitor: Monitor, chat: LogSink
) -> None:
    project = Project(monitor, "operations")
    faithfulness_falls(project)
    alert = eventually(lambda: firing(project, judged=FELL))
    with walking(browser, monitor.url, "operator") as walk:
        page = walk.page
        walk.sign_in(project)
        banner = page.get_by_role("status").get_by_role("link", name=re.compile("Faithfulness"))
        expect(banner).to_contain_text(alert["finding"]["summary"].split(" ", 1)[1])
        walk.at("overview")

        walk.click(banner)
        card = page.locator("article.alert.firing", has=page.get_by_role("heading", name=RULE))
        expect(card).to_contain_text("shop")
        walk.at("alerts")

        walk.click(card.get_by_role("link", name=RULE))
        expect(page.get_by_role("heading", level=1)).to_have_text(RULE)
        facts = page.locator("article.alert dl.facts")
        for number in ("value", "baseline"):
            expect(facts).to_contain_text(figure_text(alert["finding"][number]))
        expect(facts).to_contain_text(count_text(alert["finding"]["judged"]))
        course = json.loads(page.locator("[data-chart]").get_attribute("data-chart") or "")
        assert course["lines"][0]["values"]
        place = page.url
        walk.at("alert")

        walk.link("Incident")
        incident = project.get("/api/v1/incidents")["incidents"][0]
        story = page.locator(f"#incident-{incident['id']}")
        expect(story).to_be_in_viewport()
        for alerted in incident["alerts"]:
            expect(story).to_contain_text(alerted["rule"])
        walk.at("incident")

        walk.click(story.get_by_role("link", name=RULE))
        walk.click(page.locator("article.alert").get_by_role("link", name=RULE))
        assert page.url == place
        walk.at("alert again")

        walk.link("Compare with the time before")
        row = page.locator(
            "table.compare tr", has=page.get_by_role("rowheader", name="Faithfulness")
        )
        expect(row).to_contain_text("worse")
        walk.at("comparison")
        walk.back()
        walk.link("Runbook")
        expect(page.locator("#drop")).to_be_in_viewport()
        walk.at("runbook")
        walk.back()

        walk.press("Snooze 1 h")
        assert page.url == place
        expect(page.locator("article.alert header")).to_contain_text("silenced until")
        (silence,) = project.get("/api/v1/silences")["silences"]
        assert (silence["rule"], silence["app"]) == (RULE, "shop")
        walk.at("silenced")

        walk.link("Edit the rule")
        preview = page.locator("#preview")
        fall = page.locator('input[name="params.drop.min_drop"]')
        fall.fill("50 %")
        expect(preview).to_contain_text("It would have fired 1 time in 14 days.")
        walk.at("rule")
        fall.fill("95 %")
        expect(preview).to_contain_text("It would not have fired in 14 days.")
        page.get_by_label("Clear before it resolves").fill("0 s")
        walk.press("Save")
        expect(page.get_by_role("status")).to_contain_text(f"Saved: {RULE}.")
        (kept,) = [r for r in project.get("/api/v1/rules")["rules"] if r["name"] == RULE]
        assert kept["params"]["min_drop"] == pytest.approx(0.95)
        walk.at("saved")

        eventually(lambda: firing(project) is None)
        walk.menu("Alerts")
        rule = page.locator("#rules tr", has=page.get_by_role("rowheader", name=RULE))
        expect(rule).to_contain_text("quiet")
        walk.at("all quiet")


def test_a_link_of_a_message_leads_to_the_question_whether_to_act(
    browser: Browser, monitor: Monitor, chat: LogSink
) -> None:
    project = Project(monitor, "on-call")
    faithfulness_falls(project)
    alert = eventually(lambda: firing(project, judged=FELL))
    links = eventually(lambda: links_about(chat, alert["id"]))
    with walking(browser, monitor.url, "on-call") as walk:
        page = walk.page
        walk.sign_in(project)
        page.goto(links["acknowledge"])
        question = page.locator("#act")
        expect(question).to_contain_text("Acknowledge?")
        expect(question).to_contain_text(f"{RULE} · shop")
        assert not project.get("/api/v1/alerts")["alerts"][0]["acknowledged_by"]
        walk.at("question")

        walk.click(question.get_by_role("button", name="Acknowledge"))
        expect(page.locator("article.alert dl.facts")).to_contain_text("on-call")
        (acknowledged,) = [
            a for a in project.get("/api/v1/alerts")["alerts"] if a["id"] == alert["id"]
        ]
        assert acknowledged["acknowledged_by"] == "on-call"
        walk.at("acknowledged")


def faithfulness_falls(project: Project) -> None:
    """An hour of good answers, then one in which most name another number."""
    project.send("PUT", "/api/v1/rules", {"rules": [DROP]})
    now = time.time()
    for n in range(2 * FELL):
        question, passage = lamp(n)
        bad = n >= FELL and n % 5
        minutes = 115 - 50 * n / FELL if n < FELL else 55 - 50 * (n - FELL) / FELL
        trace = {
            "id": f"t-{n}",
            "app": "shop",
            "question": question,
            "contexts": [passage],
            "answer": f"The warranty of lamp {n} lasts {900 + n} months." if bad else passage,
            "started_at": now - minutes * MINUTE_S,
        }
        project.send("POST", "/api/v1/traces", trace)


def firing(project: Project, judged: int = 0) -> dict[str, Any] | None:
    """The alert of the rule while it fires, once the baseline and so many since are judged."""
    alerts = project.get("/api/v1/alerts")["alerts"]
    found = [a for a in alerts if a["rule"] == RULE and a["state"] == "firing"]
    whole = [a for a in found if a["finding"]["baseline_judged"] == FELL]
    return next((a for a in whole if a["finding"]["judged"] >= judged), None)


def links_about(chat: LogSink, alert_id: str) -> dict[str, str]:
    """The links of the message about an alert, by their words; empty before it came."""
    for body in chat.bodies:
        found = dict(re.findall(r"<(http[^|>]+)\|([^>]+)>", body.decode()))
        if any(alert_id in url for url in found):
            return {label: url.replace("&amp;", "&") for url, label in found.items()}
    return {}


APP_ZH = "售后助手"
RELEASES = ("2026.10", "2026.11")
PER_RELEASE = 40


def product(n: int) -> tuple[str, str]:
    """A question in Chinese, and the passage that answers it."""
    return (f"{n}号产品的保修期是多久?", f"{n}号产品的保修期为{12 + n}个月,自签收之日起计算。")


def two_releases(path: Path) -> Path:
    """A file of two releases; the newer invents three numbers of four."""
    now, rows = time.time(), []
    for place, release in enumerate(RELEASES):
        for n in range(PER_RELEASE):
            question, passage = product(n)
            bad = place == 1 and n % 4
            answer = passage.replace(str(12 + n), str(300 + n)) if bad else passage
            row = {
                "id": f"{release}-{n}",
                "app": APP_ZH,
                "release": release,
                "question": question,
                "contexts": [passage, "包裹每周一从仓库发出。"],
                "answer": answer,
                "started_at": now - (50 - 25 * place) * MINUTE_S + n,
            }
            rows.append(json.dumps(row, ensure_ascii=False))
    path.write_text("\n".join(rows), "utf-8")
    return path


def zh(text: str, **values: object) -> str:
    """The words of the Chinese pages."""
    return translate(Message(text, **values), "zh")


def test_a_lead_who_reads_chinese_walks_from_a_file_to_a_label(
    browser: Browser, monitor: Monitor, tmp_path: Path
) -> None:
    project = Project(monitor, "评测")
    file, report = two_releases(tmp_path / "两个版本.jsonl"), tmp_path / "报告.html"
    chinese = ("--language", "zh")
    evaluated = monitor.command("evaluate", str(file), "--report", str(report), *chinese)
    assert evaluated.returncode == 0, evaluated.stderr
    sent = ("import", str(file), "--url", monitor.url, "--api-key", project.key, *chinese)
    imported = monitor.command(*sent)
    assert imported.returncode == 0, imported.stderr
    counted = {"judged": 2 * PER_RELEASE}
    eventually(lambda: project.estimate(APP_ZH, "1h").items() >= counted.items())

    with walking(browser, tmp_path.as_uri(), "report", locale="zh-CN") as walk:
        walk.page.goto(report.as_uri())
        expect(walk.page.locator(".facts")).to_contain_text(str(2 * PER_RELEASE))
        expect(walk.page.locator("main")).to_contain_text(zh("Faithfulness"))
        walk.at("报告")

    with walking(browser, monitor.url, "lead", locale="zh-CN") as walk:
        page = walk.page
        walk.sign_in(project)
        (address,) = re.findall(r"http://\S+", imported.stdout)
        page.goto(address)
        name = zh("Faithfulness")
        tile = page.locator(".tile", has=page.get_by_role("heading", name=name, exact=True))
        estimate = project.estimate(APP_ZH, "1h")
        expect(tile.locator(".value")).to_have_text(score_text(estimate["value"]))
        walk.at("总览")

        walk.link(zh("Compare releases"))
        row = page.locator("table.compare tr", has=page.get_by_role("rowheader", name=name))
        before, after = (project.estimate(APP_ZH, "1h", release=one)["value"] for one in RELEASES)
        expect(row).to_contain_text(score_text(before))
        expect(row).to_contain_text(score_text(after))
        expect(row.locator(".by")).to_contain_text(change_text(after - before))
        expect(row).to_contain_text(zh("worse"))
        walk.at("对比")

        walk.click(row.get_by_role("link", name=zh("traces of B, the worst first")))
        narrowed = f"release={RELEASES[1]}&metric=faithfulness&sort=score&order=asc&limit=1"
        (worst,) = project.get(f"/api/v1/traces?{narrowed}")["items"]
        first = page.locator("a.tracerow").first
        expect(first).to_contain_text(worst["question"])
        expect(first).to_contain_text(score_text(worst["scores"]["faithfulness"]))
        walk.at("最差的追踪")

        walk.click(first)
        expect(page.get_by_role("heading", level=1)).to_have_text(worst["question"])
        expect(page.locator("mark.unsupported")).to_contain_text("个月")
        walk.at("追踪")

        walk.menu(zh("Traces"))
        walk.link(zh("Waiting for a mark"))
        expect(page.locator("a.tracerow")).to_have_count(50)
        walk.at("待标注")

        walk.link(zh("Start marking"))
        passage, answer = (
            page.locator(one).first.inner_text() for one in (".passage .prose", ".answer")
        )
        supported = passage.strip() == answer.strip()
        page.get_by_label(zh("Comment")).fill("已核对")
        walk.press(re.compile(f"^{zh('Supported' if supported else 'Not supported')}"))
        expect(page.locator("#verdicts")).to_be_visible()
        marked = page.url.split("/labels/")[1].split("?")[0]
        (mark,) = project.get(f"/api/v1/traces/{marked}")["feedback"]
        said = (mark["metric"], mark["value"], mark["comment"])
        assert said == ("faithfulness", float(supported), "已核对")
        walk.at("已标注")

        walk.menu(zh("Judges"))
        expect(page.locator("main")).to_contain_text(zh("{n} marked by people", n=1))
        walk.at("评审")
        eventually(lambda: project.estimate(APP_ZH, "1h").get("labelled") == 1)
        walk.menu(zh("Overview"))
        expect(tile).to_contain_text(zh("{n} marked by people", n=1))
        walk.at("估计")
