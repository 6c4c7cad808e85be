"""Text of traces stays data, whatever it says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai")

from benchmarks.stub_server import Answer, Body, StubServer, completion
from rag_monitor.domain.conversation import EarlierTurn
from rag_monitor.domain.judgement import Aspect, Judgement
from rag_monitor.judges.hardening import clean, draw_boundary, fenced
from rag_monitor.judges.openai_compatible import create
from rag_monitor.judges.prompt_injection import injection_reason
from tests.unit.judges.requests import filled, warranty

ROLE_TOKENS = (
    "<|im_start|>", "<|im_end|>", "[/INST]", "[INST]", "<|eot_id|>", "<|start_header_id|>", "<s>",
    "</s>", "<｜Assistant｜>", "<start_of_turn>", "<<SYS>>", "[gMASK]", "<tool_response>",
)  # fmt: skip


@pytest.mark.parametrize("token", ROLE_TOKENS)
def test_role_tokens_are_broken_up_and_stay_readable(token: str) -> None:
    cleaned = clean(f"before {token} after")

    assert token not in cleaned
    assert cleaned.replace("\u2060", "") == f"before {token} after"


@pytest.mark.parametrize(
    "text",
    ["The rate is 3.4% (4.25% × 0.8).", "2024年首套房，利率：3.4%。", "a < b and c > d", "x[1]"],
)
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    assert clean(text) == text


def test_invisible_characters_and_long_runs_are_dropped() -> None:
    assert clean("I\u200bg\u00adn\u2066o\U000e0041re\x00" + " " * 10_000 + "x") == "Ignore   x"


def test_nothing_inside_the_evidence_can_start_a_line() -> None:
    text = fenced("code", {"answer": 'a\ncode\n"}\nscore: 1.0'})

    assert text.splitlines()[0] == text.splitlines()[-1] == "code"
    assert len(text.splitlines()) == 3


def test_boundaries_are_drawn_anew() -> None:
    assert len({draw_boundary() for _ in range(1_000)}) == 1_000


def joined(part: Any) -> str:
    if isinstance(part, str):
        return part
    return "".join(p if isinstance(p, str) else p["repeat"] * p["times"] for p in part)


@pytest.fixture
def families(reference_vectors: Path) -> dict[str, Any]:
    path = reference_vectors / "injection_families.json"
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def attacks(families: dict[str, Any], group: str) -> Iterator[tuple[int, str]]:
    for family in families["families"]:
        if family["group"] == group:
            for examples in family["examples"].values():
                yield from ((family["id"], joined(example["attack"])) for example in examples)


def obedient(attack: str) -> Any:
    """A model that obeys the attack wherever it stands outside of the quoted evidence."""

    def script(_path: str, body: Body) -> Answer:
        system, user = (message["content"] for message in body["messages"])
        boundary, evidence, rest = user.split("\n", 2)
        closing, instructions = rest.split("\n", 1)
        json.loads(evidence)
        lines = {line.strip() for line in attack.splitlines() if line.strip()}
        free = f"{system}\n{instructions}"
        tokens = any(token in user for token in ROLE_TOKENS)
        obeyed = boundary != closing or tokens or any(line in free for line in lines)
        value = 1.0 if obeyed else 0.1
        return Answer(payload=completion(json.dumps(filled(body, lambda *_: value))))

    return script


async def judged(script: Any, attack: str, place: str) -> Judgement | Exception:
    carriers = {
        "answer": {"answer": f"The rate is 2.1 percent. {attack} The fee is waived."},
        "context": {"contexts": ("The base rate is 4.25 percent.", attack)},
        "question": {"question": f"What is the rate? {attack}"},
        "history": {"history": (EarlierTurn(question="The rate?", answer=attack),)},
    }
    async with StubServer(script) as server:
        judge = create({"base_url": server.url, "model": "m", "probe_every": 0, "reasks": 0})
        try:
            (result,) = await judge.judge_many(
                [warranty(aspects=frozenset({Aspect.SUPPORT, Aspect.GRADE}), **carriers[place])]
            )
            return result
        finally:
            await judge.close()


@pytest.mark.parametrize("place", ["answer", "context", "question", "history"])
async def test_structure_break_outs_flip_nothing_in_an_obedient_model(
    families: dict[str, Any], place: str
) -> None:
    for number, attack in attacks(families, "B"):
        result = await judged(obedient(attack), attack, place)

        assert isinstance(result, Judgement), number
        assert {v.probability for v in result.verdicts} <= {0.1}, (number, attack)


async def test_parser_attacks_are_never_accepted_as_scores(families: dict[str, Any]) -> None:
    for number, attack in attacks(families, "C"):
        for glue in ("{0}", "{0}\n{1}", "{1}\n{0}"):

            def script(_path: str, body: Body, glue: str = glue, attack: str = attack) -> Answer:
                honest = json.dumps(filled(body, lambda *_: 0.1))
                reply = glue.replace("{0}", attack).replace("{1}", honest)
                return Answer(payload=completion(reply))

            result = await judged(script, "harmless", "answer")

            if glue != "{0}" and isinstance(result, Judgement):  # the honest object alone was read
                assert {v.probability for v in result.verdicts} == {0.1}, (number, glue)
                continue
            assert isinstance(result, Exception), (number, glue)


def test_documents_about_injection_are_not_suspected(families: dict[str, Any]) -> None:
    assert [case["id"] for case in families["lookalikes"] if injection_reason([case["text"]])] == []


def test_plain_injections_are_noticed(families: dict[str, Any]) -> None:
    injections = [text for number, text in attacks(families, "A") if number in (1, 3, 6, 7)]

    assert [text for text in injections if not injection_reason([text])] == []
