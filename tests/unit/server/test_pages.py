"""The pages: they render, they leak nothing, and nothing on them can run or leave the host."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest

from rag_monitor.domain.alert import RuleKind
from rag_monitor.domain.conversation import EarlierTurn
from rag_monitor.domain.decision import SamplingDecision, SamplingReason
from rag_monitor.domain.fault import Diagnosis, EvidenceKind, Fault, FaultEvidence
from rag_monitor.domain.hit import Hit, HitKind
from rag_monitor.domain.judgement import Aspect, Verdict
from rag_monitor.domain.score import Score, ScoreStatus
from rag_monitor.errors import StoreUnavailable
from rag_monitor.server.services import Services
from rag_monitor.server.ui import catalog
from rag_monitor.server.ui.label_pages import REASONS
from rag_monitor.server.ui.saved_views import SHIPPED
from rag_monitor.testing import make_trace
from tests.unit.i18n.extraction import catalogue as chinese
from tests.unit.server.conftest import open_client
from tests.unit.server.fakes import make_services
from tests.unit.server.story import make_stored

CHINESE = {key.msgid for key in chinese("zh")}
HTML = {"accept": "text/html"}
PAGES = ("/", "/traces", "/alerts", "/judges", "/compare", "/settings", "/docs", "/nowhere")
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "javascript:alert(1)",
    "<svg/onload=alert(1)>",
    "{{7919*7919}}",
    "![x](http://evil.example/x.png)",
    "</title></textarea><iframe src=//evil.example>",
)


@pytest.fixture
async def browser(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    async with open_client(services, headers=HTML) as client:
        yield client


def token_of(text: str) -> str:
    found = re.search(r'name="token" value="([^"]+)"', text)
    assert found is not None
    return found[1]


def trace_id_of(services: Services) -> str:
    return next(iter(services.traces.stored))[1]


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_every_page_renders_and_loads_nothing_from_elsewhere(
    path: str, empty: bool, language: str
) -> None:
    async with open_client(make_services(empty=empty), headers=HTML) as client:
        answer = await client.get(path, params={"lang": language})

    text = answer.text
    assert answer.status_code == (404 if path == "/nowhere" else 200)
    assert f'<html lang="{"zh-CN" if language == "zh" else "en"}">' in text
    assert not re.search(r'\sstyle="|<style|\son[a-z]+="|<script>', text)
    loaded = re.sub(r"<a [^>]*>", "", text)  # a link loads nothing until somebody follows it
    assert not re.search(r'(?:src|href)="(?:https?:)?//', loaded)
    assert len(answer.content) < 200_000


async def test_a_trace_shows_what_is_not_supported_and_where_it_rests(
    browser: httpx.AsyncClient, services: Services
) -> None:
    text = (await browser.get(f"/traces/{trace_id_of(services)}")).text

    assert re.search(r'<mark class="unsupported"[^>]*aria-describedby="(why-\d)"', text)
    assert "a number is not in the passage" in text
    assert "Nearest passage:" in text
    assert '<mark class="supported"' in text
    assert 'href="#passage-1"' in text
    assert 'id="passage-3"' in text
    assert "embedded/full/3f9a/v1" in text
    assert "the judge took too long: the judge did not answer within 30.0 s" in text
    assert '<svg class="timeline"' in text


async def test_a_trace_shows_what_each_statement_cites(services: Services) -> None:
    trace = make_trace(
        question="What does it cost?",
        answer="The fee is 90 euros [2]. It is waived for students [7].",
        contexts=("Students pay nothing.", "The fee is 90 euros."),
        id="cited",
    )
    verdicts = tuple(
        Verdict(aspect=aspect, probability=probability, index=index, reason=reason)
        for index, (probability, reason) in enumerate([(0.97, None), (0.0, "no_such_passage")])
        for aspect in (Aspect.CITED_SUPPORT, Aspect.CITATION)
    )
    score = Score(metric="citation_recall", status=ScoreStatus.SCORED, value=0.5, verdicts=verdicts)
    stored = replace(make_stored(trace), scores=(score,))
    services.traces.stored["default", trace.trace_id] = stored
    async with open_client(services, headers=HTML) as client:
        text = (await client.get(f"/traces/{trace.trace_id}")).text
    panel = text.split('id="citations"')[1].split("</section>")[0]
    first, second = panel.split('<p class="prose">')[1:]

    assert first.startswith("The fee is 90 euros.")
    assert 'href="#passage-2"' in first
    assert "supported by what it cites" in first
    assert "not supported by what it cites" not in first
    assert "<code>7</code>" in second
    assert "there is no such passage" in second
    assert "not supported by what it cites" in second


async def test_a_passage_that_is_cited_and_not_used_says_so(services: Services) -> None:
    contexts = ("Students pay nothing.", "The fee is 90 euros.", "The fee was 80 euros.")
    trace = make_trace(
        question="What does it cost?",
        answer="The fee is 90 euros [2].",
        contexts=contexts,
        id="cited-unused",
    )
    services.traces.stored["default", trace.trace_id] = make_stored(trace)
    async with open_client(services, headers=HTML) as client:
        text = (await client.get(f"/traces/{trace.trace_id}")).text
    passages = text.split('<article class="passage"')[1:]

    assert ["The answer cites it" in passage for passage in passages] == [False, True, False]
    assert "not used" in passages[1]
    assert "not used" in passages[2]


FOUND = Diagnosis(
    judge="embedded/m",
    probabilities={Fault.CONTRADICTED: 0.72, Fault.NONE: 0.23, Fault.INVENTED: 0.05},
    evidence=(
        FaultEvidence(kind=EvidenceKind.STATEMENT, text="The fee is 80.", value=0.04, passage=0),
    ),
)


async def test_a_trace_begins_with_its_scores_and_its_fault(
    browser: httpx.AsyncClient, services: Services
) -> None:
    trace_id = next(iter(services.traces.stored))[1]  # type: ignore[attr-defined]

    text = (await browser.get(f"/traces/{trace_id}")).text

    places = [text.index(part) for part in ("verdict-chips", 'id="fault"', ">Answer<", ">Passages")]
    assert places == sorted(places)


async def test_a_trace_shows_what_was_at_fault_and_why(services: Services) -> None:
    trace = make_trace(contexts=("The fee is 90.",), id="fault")
    services.traces.stored["default", trace.trace_id] = replace(make_stored(trace), faults=(FOUND,))
    async with open_client(services, headers=HTML) as client:
        text = (await client.get(f"/traces/{trace.trace_id}")).text
        chinese = (
            await client.get(f"/traces/{trace.trace_id}", headers={"accept-language": "zh"})
        ).text
        told = (await client.get(f"/api/v1/traces/{trace.trace_id}")).json()
    panel = text.split('id="fault"')[1].split("<form")[0]

    for shown in ("Contradicts its passages", "p = 0.72", "Generation", "The fee is 80."):
        assert shown in panel
    assert 'href="#passage-1"' in panel
    assert "No fault found 0.23" in panel
    assert "Invented" not in panel
    assert "与片段矛盾" in chinese
    [fault] = told["faults"]
    assert (fault["fault"], fault["probability"], fault["stage"]) == (
        "contradicted",
        0.72,
        "generation",
    )
    assert fault["evidence"] == [
        {"kind": "statement", "text": "The fee is 80.", "value": 0.04, "passage": 0}
    ]


async def test_a_trace_shows_the_earlier_turns_that_it_was_judged_with(services: Services) -> None:
    first = make_trace("What do adults <b>pay</b>?", "14 euros.", id="first", session_id="s")
    second = make_trace("And students?", "9 euros.", id="second", session_id="s")
    decision = SamplingDecision(
        judge="embedded",
        included=True,
        probability=1.0,
        reason=SamplingReason.ALWAYS,
        history=(first.trace_id, "f" * 32),
    )
    for trace, decisions in ((first, ()), (second, (decision,))):
        stored = replace(make_stored(trace), decisions=decisions)
        services.traces.stored["default", trace.trace_id] = stored
    path = f"/traces/{second.trace_id}"
    async with open_client(services, headers=HTML) as client:
        text = (await client.get(path)).text
        chinese = (await client.get(path, headers={"accept-language": "zh"})).text
        alone = (await client.get(f"/traces/{first.trace_id}")).text
        told = (await client.get(f"/api/v1{path}")).json()
    panel = text.split('id="earlier"')[1].split("</details>")[0]

    assert "Judged with 1 earlier turn<" in panel, "the other one is gone"
    assert f'<a href="/traces/{first.trace_id}">What do adults &lt;b&gt;pay' in panel
    assert "14 euros." in panel
    assert "评判时结合了之前的 1 轮对话" in chinese
    assert 'id="earlier"' not in alone
    assert told["decisions"][0]["history"] == [first.trace_id, "f" * 32]


async def test_a_trace_shows_the_turns_that_it_tells_of_itself(services: Services) -> None:
    turn = EarlierTurn(question="What do adults pay?", answer="14 euros.")
    follow_up = make_trace("And students?", "9 euros.", id="own", history=(turn,))
    whole = make_trace("How long is the warranty?", id="whole", history=(turn,))
    for trace in (follow_up, whole):
        services.traces.stored["default", trace.trace_id] = make_stored(trace)
    async with open_client(services, headers=HTML) as client:
        text = (await client.get(f"/traces/{follow_up.trace_id}")).text
        stands_alone = (await client.get(f"/traces/{whole.trace_id}")).text
        told = (await client.get(f"/api/v1/traces/{whole.trace_id}")).json()

    assert "What do adults pay?" in text.split('id="earlier"')[1].split("</details>")[0]
    assert 'id="earlier"' not in stands_alone
    assert told["history"] == [{"question": "What do adults pay?", "answer": "14 euros."}]


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_what_was_traced_is_only_ever_text(hostile: str) -> None:
    services = make_services()
    trace = make_trace(
        question=hostile,
        answer=hostile + "。" + hostile,
        contexts=(hostile,),
        id="hostile",
        app=hostile,
        release=hostile,
        user_id=hostile,
        error=hostile,
        model=hostile,
        tags=(hostile,),
        hits=(Hit(kind=HitKind.PLUGIN, name=hostile),),
        history=(EarlierTurn(question=hostile, answer=hostile),),
    )
    stored = make_stored(trace)
    scores = tuple(replace(score, detail=hostile) for score in stored.scores)
    services.traces.stored["default", trace.trace_id] = replace(stored, scores=scores)
    async with open_client(services, headers=HTML) as client:
        for path in ("/", "/traces", f"/traces/{trace.trace_id}", f"/traces?q={hostile}"):
            answer = await client.get(path)
            tags = " ".join(re.findall(r"<[a-zA-Z][^>]*>", re.sub(r'"[^"]*"', '""', answer.text)))
            assert answer.status_code == 200
            assert not re.search(r"&amp;(?:amp|lt|gt|quot|#\d+);", answer.text)
            assert "onerror" not in tags
            assert "onload" not in tags
            assert "<iframe" not in tags
            assert "<img src=x" not in tags
            assert "<script>" not in answer.text
            assert 'href="javascript:' not in answer.text
            assert str(7919 * 7919) not in answer.text


async def test_a_mark_from_the_page_is_stored(
    browser: httpx.AsyncClient, services: Services
) -> None:
    trace_id = trace_id_of(services)
    token = token_of((await browser.get(f"/traces/{trace_id}")).text)
    form = {"token": token, "trace_id": trace_id, "value": "bad", "metric": "faithfulness"}

    answer = await browser.post("/ui/feedback", data=form)

    assert answer.status_code == 303
    assert answer.headers["location"].startswith(f"/traces/{trace_id}")
    assert services.feedback.marks[0].value == 0.0


async def test_what_judging_cost_stands_beside_the_judge(
    browser: httpx.AsyncClient, services: Services
) -> None:
    text = (await browser.get(f"/traces/{trace_id_of(services)}")).text

    assert "1,240 → 86 tokens" in text
    assert "0.00213" in text


@pytest.mark.parametrize(
    "path",
    [
        "/ui/feedback",
        "/ui/alerts/act",
        "/ui/rules/preview",
        "/ui/silences",
        "/ui/silences/delete",
        "/ui/rules",
        "/ui/rules/delete",
        "/ui/keys",
        "/ui/keys/revoke",
        "/logout",
    ],
)
async def test_a_form_without_the_token_of_its_session_changes_nothing(
    browser: httpx.AsyncClient, services: Services, path: str
) -> None:
    without_session = await browser.post(path, data={"token": "x", "id": "al-1", "name": "n"})
    await browser.get("/")
    wrong = await browser.post(path, data={"token": "wrong", "id": "al-1", "name": "n"})

    assert (without_session.status_code, wrong.status_code) == (403, 403)
    assert services.alerts.alerts["al-1"].acknowledged_by is None
    assert services.keys.keys == {}


async def test_alerts_are_acknowledged_and_silenced_on_the_page(
    browser: httpx.AsyncClient, services: Services
) -> None:
    token = token_of((await browser.get("/alerts")).text)

    await browser.post(
        "/ui/alerts/act",
        data={"token": token, "id": "al-1", "do": "acknowledge", "by": "梅"},
    )
    await browser.post(
        "/ui/silences",
        data={"token": token, "rule": "faithfulness drop", "app": "loan-assistant", "hours": "4"},
    )
    text = (await browser.get("/alerts")).text

    assert services.alerts.alerts["al-1"].acknowledged_by == "梅"
    assert "梅" in text
    assert "01-05 16:00" in text


async def test_a_rule_is_saved_once_it_can_work(
    browser: httpx.AsyncClient, services: Services
) -> None:
    token = token_of((await browser.get("/settings")).text)
    form = {"token": token, "name": "low", "kind": "threshold", "metric": "faithfulness"}

    refused = await browser.post("/ui/rules", data=form)
    saved = await browser.post(
        "/ui/rules",
        data=form
        | {
            "params.threshold.limit": "0.7",
            "params.threshold.side": "low",
            "enabled": "on",
        },
    )

    assert refused.status_code == 422
    assert "params.limit" in refused.text
    assert 'value="low"' in refused.text
    assert saved.status_code == 303
    assert services.rules.rules["low"].params == {"limit": 0.7, "side": "low"}
    assert services.rules.rules["low"].kind is RuleKind.THRESHOLD


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh-CN"),
        ("en-GB,en;q=0.9,zh;q=0.8", "en"),
        ("fr-FR,fr;q=0.9,zh;q=0.5,en;q=0.4", "zh-CN"),
        ("zh;q=0.2, en;q=0.7", "en"),
        ("zh;q=0, fr", "en"),
        ("zh;q=very,;;q=1,*", "en"),
        ("", "en"),
    ],
)
async def test_the_language_is_the_browsers_until_one_is_chosen(
    browser: httpx.AsyncClient, header: str, language: str
) -> None:
    preferred = await browser.get("/", headers={"accept-language": header})
    chosen = await browser.get("/", headers={"accept-language": header}, params={"lang": "zh"})

    assert f'<html lang="{language}"' in preferred.text
    assert '<html lang="zh-CN"' in chosen.text


async def test_the_language_is_remembered(browser: httpx.AsyncClient) -> None:
    await browser.get("/?lang=zh")

    assert "忠实度" in (await browser.get("/")).text


async def test_times_are_in_the_configured_zone() -> None:
    services = make_services(timezone="Asia/Shanghai")
    async with open_client(services, headers=HTML) as client:
        text = (await client.get(f"/traces/{trace_id_of(services)}")).text

    assert "2026-01-05 19:59:00" in text


async def test_signing_in_opens_the_pages(locked: Services) -> None:
    async with open_client(locked, headers=HTML) as client:
        turned_away = await client.get("/alerts")
        token = token_of((await client.get("/login?next=/alerts")).text)
        wrong = await client.post("/login?next=/alerts", data={"token": token, "key": "guess"})
        right = await client.post("/login?next=/alerts", data={"token": token, "key": "master-key"})
        page = await client.get("/alerts")
        left = await client.post("/logout", data={"token": token_of(page.text)})
        again = await client.get("/alerts")

    assert (turned_away.status_code, turned_away.headers["location"]) == (
        303,
        "/login?next=%2Falerts",
    )
    assert wrong.status_code == 401
    assert (right.status_code, right.headers["location"]) == (303, "/alerts")
    cookie = right.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "master-key" not in cookie
    assert page.status_code == 200
    assert left.status_code == 303
    assert again.status_code == 303


async def test_a_key_may_be_pasted_with_space_around_it(locked: Services) -> None:
    async with open_client(locked, headers=HTML) as client:
        token = token_of((await client.get("/login")).text)
        answer = await client.post("/login", data={"token": token, "key": " master-key \n"})

    assert answer.status_code == 303


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil.example"])
async def test_signing_in_leads_to_our_own_pages_only(locked: Services, target: str) -> None:
    async with open_client(locked, headers=HTML) as client:
        token = token_of((await client.get("/login")).text)
        answer = await client.post(
            "/login", params={"next": target}, data={"token": token, "key": "master-key"}
        )

    assert answer.headers["location"] == "/"


async def test_trouble_is_a_page_for_people(browser: httpx.AsyncClient, services: Services) -> None:
    services.traces.error = StoreUnavailable()

    answer = await browser.get(f"/traces/{'a' * 32}?lang=zh")

    assert answer.status_code == 503
    assert "暂时不可用" in answer.text


async def test_only_our_own_files_are_served(client: httpx.AsyncClient) -> None:
    style = await client.get("/static/app.css", headers={"range": "bytes=" + "0-0," * 1000 + "0-0"})

    assert style.status_code == 200
    assert "url(" not in style.text
    assert (await client.get("/static/..%2fapp.py")).status_code == 404


def test_every_word_of_the_tables_is_translated() -> None:
    texts = {text for pair in catalog.METRICS.values() for text in pair}
    for word, names in vars(catalog).items():
        if word.isupper() and isinstance(names, dict) and word not in {"METRICS", "_LOW_BELOW"}:
            texts |= set(names.values())
    texts |= {view.name for view in SHIPPED}
    texts |= {text for pair in REASONS.values() for text in pair}

    assert texts - CHINESE == set()


async def test_the_interface_is_described_in_chinese_too(client: httpx.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()
    told = [
        text
        for item in document["paths"].values()
        for operation in item.values()
        for text in (
            operation["description"],
            *(p.get("description", "") for p in operation.get("parameters", ())),
        )
    ]

    assert {line for text in told for line in text.split("\n") if line} - CHINESE == set()


async def test_an_answer_that_is_not_there_is_said_to_be_not_there(services: Services) -> None:
    key, stored = next(iter(services.traces.stored.items()))
    bare = replace(stored.trace, answer=None, contexts=None, question=None, hits=())
    services.traces.stored[key] = replace(stored, trace=bare, scores=())
    async with open_client(services, headers=HTML) as client:
        text = (await client.get(f"/traces/{key[1]}")).text

    assert "There is no answer" in text
    assert "rm.record_contexts" in text
    assert "Not judged yet." in text
