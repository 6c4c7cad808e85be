"""Detectors through onnxruntime, from the folder to the score; needs no torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_monitor.domain.judgement import Aspect, JudgeRequest, Verdict
from rag_monitor.errors import ConfigurationError
from rag_monitor.installation import install_command
from rag_monitor.judges import registry
from rag_monitor.judges.detectors.texts import Texts
from rag_monitor.judges.factory import make_judge
from rag_monitor.metrics.rag import score_trace
from rag_monitor.offline.agreement import JudgedRow
from rag_monitor.offline.calibration import fit_calibration
from rag_monitor.testing import make_trace
from tests.unit.judges.detectors.onnx_files import NLI, Table, nli_folder, table, write_model
from tests.unit.judges.detectors.tiny_detectors import folder_of, tokenizer
from tests.unit.judges.requests import warranty

ASKED = frozenset({Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED})
LETTUCE = {"architectures": ["ModernBertForTokenClassification"], "model_type": "modernbert"}


async def judged(request: JudgeRequest, **options: Any) -> Any:
    judge = registry.create("detector", {"runtime": "onnx", **options})
    try:
        return await judge.judge(request)
    finally:
        await judge.close()


def softmax(logits: Any) -> Any:
    parts = np.exp(logits - np.max(logits))
    return parts / parts.sum()


def entailed(rows: Table, passages: str, statement: str) -> float:
    """What the model in the file says of one pair, told without it."""
    ids = Texts(tokenizer("bert")).encode(passages, statement).ids
    return float(softmax(rows[ids].astype(np.float64).sum(0))[1])


async def test_an_nli_model_judges_every_statement_and_the_weakest_is_the_answer(
    tmp_path: Path,
) -> None:
    rows = table(3) / 9
    request = warranty(aspects=ASKED)

    judgement = await judged(request, model=str(nli_folder(tmp_path, rows)))

    passages = "\n".join(request.contexts or ())
    wanted = [
        entailed(rows, passages, s) for s in ("The warranty lasts 24 months.", "It covers parts.")
    ]
    support = judgement.of(Aspect.SUPPORT)
    assert [v.probability for v in support] == pytest.approx(wanted, abs=1e-5)
    assert [v.raw for v in support] == [v.probability for v in support]
    assert [request.answer[v.start : v.end] for v in support] == [v.text for v in support]
    assert support[0].evidence == 0
    (answer,) = judgement.of(Aspect.ANSWER_SUPPORTED)
    assert answer.probability == pytest.approx(min(wanted), abs=1e-5)
    assert judgement.coverage == 1.0
    assert judgement.usage.input_tokens > 0
    assert judgement.identity.name == "detector"
    assert judgement.identity.prompts.startswith("nli-")


async def test_many_traces_at_once_score_as_each_alone(tmp_path: Path) -> None:
    folder = nli_folder(tmp_path)
    requests = [warranty(aspects=ASKED, contexts=("parts " * n, "24 months")) for n in (1, 40, 7)]
    judge = registry.create(
        "detector", {"runtime": "onnx", "model": str(folder), "batch_tokens": 128}
    )

    together = await judge.judge_many(requests)
    alone = [await judge.judge(request) for request in requests]
    await judge.close()

    def numbers(judgement: Any) -> list[float]:
        return [verdict.probability for verdict in judgement.verdicts]

    assert [numbers(j) for j in together] == [pytest.approx(numbers(j), abs=1e-5) for j in alone]


async def test_the_best_of_several_windows_decides_and_is_the_evidence(tmp_path: Path) -> None:
    rows = np.zeros((400, 3), np.float32)
    rows[Texts(tokenizer("bert")).encode(" 24").ids[1:-1], 1] = 6.0
    request = warranty(
        aspects=ASKED,
        answer="The warranty lasts long.",
        contexts=("shop " * 120, "nine " * 120, "It lasts 24 months. " + "shop " * 100),
    )

    judgement = await judged(request, model=str(nli_folder(tmp_path, rows)), max_tokens=160)
    cut = await judged(request, model=str(tmp_path), max_tokens=160, max_windows=1)

    (support,) = judgement.of(Aspect.SUPPORT)
    assert support.probability > 0.9
    assert support.evidence == 2
    assert judgement.coverage == 1.0
    assert cut.of(Aspect.SUPPORT)[0].evidence == 2, "the nearest window is the one that is read"
    assert 0.1 < cut.coverage < 0.6


async def test_a_contradiction_is_said_with_its_passage(tmp_path: Path) -> None:
    rows = np.zeros((400, 3), np.float32)
    rows[Texts(tokenizer("bert")).encode("Our shop").ids[1], 0] = 5.0

    judgement = await judged(
        warranty(aspects=ASKED, answer="Our shop never opens."),
        model=str(nli_folder(tmp_path, rows)),
    )

    (support,) = judgement.of(Aspect.SUPPORT)
    assert support.reason == "contradiction"
    assert support.evidence == 1


async def test_token_labels_become_statements_and_quote_the_words(tmp_path: Path) -> None:
    answer = "The warranty lasts 36 months. It covers parts."
    texts = Texts(tokenizer("bert"))
    rows = np.zeros((400, 2), np.float32)
    rows[:, 0] = 3.0
    digits = list(texts.encode(" 36").ids[1:-1])
    rows[digits] = (0.0, 2.0)
    folder = folder_of(tmp_path, "bert", LETTUCE)
    write_model(folder / "model.onnx", rows, ends="tokens")

    judgement = await judged(
        warranty(aspects=ASKED, answer=answer, contexts=("It covers parts.",)), model=str(folder)
    )

    first, second = judgement.of(Aspect.SUPPORT)
    assert first.probability == pytest.approx(float(softmax(np.array([0.0, 2.0]))[0]), abs=1e-5)
    assert first.reason is not None
    assert "36" in first.reason
    assert second.probability == pytest.approx(float(softmax(np.array([3.0, 0.0]))[0]), abs=1e-5)
    assert second.reason is None
    assert judgement.of(Aspect.ANSWER_SUPPORTED)[0].probability == pytest.approx(first.probability)


async def test_a_long_answer_is_read_in_stretches(tmp_path: Path) -> None:
    rows = table(2) * 2
    folder = folder_of(tmp_path, "bert", LETTUCE)
    write_model(folder / "model.onnx", rows, ends="tokens")
    answer = " ".join(f"Part {n} lasts {n + 20} months." for n in range(12))
    contexts = tuple(f"Passage {n} is about parts. " * 8 for n in range(6))
    request = warranty(aspects=ASKED, answer=answer, contexts=contexts)

    whole = await judged(request, model=str(folder))
    pieces = await judged(request, model=str(folder), max_tokens=260)

    assert len(whole.of(Aspect.SUPPORT)) == 12
    assert pieces.usage.input_tokens > 1.5 * whole.usage.input_tokens
    assert [v.probability for v in pieces.of(Aspect.SUPPORT)] == pytest.approx(
        [v.probability for v in whole.of(Aspect.SUPPORT)], abs=1e-5
    ), "this model labels every token by itself"


async def test_hhem_reads_the_first_token_and_the_whole_answer(tmp_path: Path) -> None:
    config = {"architectures": ["HHEMv2ForSequenceClassification"], "model_type": "HHEMv2"}
    folder = folder_of(tmp_path, "t5", config)
    rows = np.zeros((400, 2), np.float32)
    rows[tokenizer("t5").token_to_id("<pad>")] = (0.0, 1.5)
    write_model(folder / "onnx" / "model.onnx", rows, ends="tokens")

    judgement = await judged(warranty(aspects=ASKED), model=str(folder))

    assert {round(v.probability, 5) for v in judgement.verdicts} == {
        round(float(softmax(np.array([0.0, 1.5]))[1]), 5)
    }
    assert judgement.usage.input_tokens > 0


async def test_where_only_the_answer_is_asked_for_hhem_reads_it_once(tmp_path: Path) -> None:
    config = {"architectures": ["HHEMv2ForSequenceClassification"], "model_type": "HHEMv2"}
    folder = folder_of(tmp_path, "t5", config)
    write_model(folder / "model.onnx", table(2), ends="tokens")
    alone = frozenset({Aspect.ANSWER_SUPPORTED})

    once = await judged(warranty(aspects=alone), model=str(folder))
    both = await judged(warranty(aspects=ASKED), model=str(folder))
    windows = await judged(
        warranty(aspects=alone, contexts=("shop " * 90, "nine " * 90)),
        model=str(folder),
        max_tokens=160,
    )
    weakest = await judged(warranty(aspects=alone), model=str(folder), answer="weakest")

    assert once.usage.input_tokens < both.usage.input_tokens / 2
    assert once.of(Aspect.ANSWER_SUPPORTED) == both.of(Aspect.ANSWER_SUPPORTED)
    assert len(windows.of(Aspect.ANSWER_SUPPORTED)) == 1, "by its weakest statement"
    assert weakest.usage.input_tokens > once.usage.input_tokens


async def test_minicheck_of_flan_t5_reads_two_tokens_of_the_first_step(tmp_path: Path) -> None:
    config = {"architectures": ["T5ForConditionalGeneration"], "model_type": "t5"}
    folder = folder_of(tmp_path / "MiniCheck-Flan-T5-Large", "t5", config)
    rows = table(300) / 9
    write_model(folder / "model.onnx", rows, ends="first_step")
    request = warranty(aspects=ASKED, contexts=("The standard warranty lasts 24 months.",))

    judgement = await judged(request, model=str(folder))

    text = f"predict: {request.contexts[0]}</s>It covers parts."  # type: ignore[index]
    added = rows[Texts(tokenizer("t5")).encode(text).ids].astype(np.float64).sum(0)
    wanted = softmax(added[[3, 209]])[1]
    assert judgement.of(Aspect.SUPPORT)[1].probability == pytest.approx(float(wanted), abs=1e-5)


async def test_what_needs_no_model_is_settled_without_it(tmp_path: Path) -> None:
    folder = str(nli_folder(tmp_path))

    nothing = await judged(warranty(aspects=ASKED, contexts=()), model=folder)
    refusal = await judged(
        warranty(aspects=ASKED, answer="I don't know; the sources do not say."), model=folder
    )
    more = await judged(warranty(aspects=frozenset({Aspect.GRADE})), model=folder)

    assert {v.probability for v in nothing.verdicts} == {0.0}
    assert refusal.refusal
    assert set(refusal.missing.values()) == {"refusal"}
    assert more.missing == {Aspect.GRADE: "unsupported_aspect"}


async def test_its_verdicts_become_scores_and_a_calibration(tmp_path: Path) -> None:
    folder = nli_folder(tmp_path / "nli")
    tables: dict[str, dict[str, Any]] = {
        "mine": {"kind": "detector", "runtime": "onnx", "model": str(folder)}
    }
    judge = make_judge("mine", tables)
    request = warranty(aspects=ASKED)
    judgement = await judge.judge(request)
    trace = make_trace(request.question, request.answer, request.contexts)

    scores = {
        s.metric: s for s in score_trace(trace, judgement, ["faithfulness", "answer_supported"])
    }
    rows = [
        JudgedRow(
            probability=n % 40 / 40, flagged=n % 40 < 20, faithful=n % 40 > 15 + n % 7, group=str(n)
        )
        for n in range(200)
    ]
    fitted = fit_calibration(rows, str(judge.identity), "platt")
    file = tmp_path / "calibration.json"
    file.write_text(fitted.calibration.dump({}), encoding="utf-8")
    calibrated = make_judge("mine", {"mine": {**tables["mine"], "calibration": str(file)}})
    again = await calibrated.judge(request)
    await judge.close()

    def answer(of: Any) -> Verdict:
        return next(v for v in of.verdicts if v.aspect is Aspect.ANSWER_SUPPORTED)

    support = [v.probability for v in judgement.of(Aspect.SUPPORT)]
    assert scores["faithfulness"].value == pytest.approx(sum(support) / 2)
    assert scores["answer_supported"].value == pytest.approx(answer(judgement).probability)
    assert answer(again).probability == pytest.approx(
        fitted.calibration.apply(answer(judgement).probability)
    )
    assert answer(again).raw == pytest.approx(answer(judgement).probability)
    assert again.identity.calibration == fitted.calibration.version


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda f: (f / "config.json").unlink(), "no config.json"),
        (lambda f: (f / "model.onnx").write_bytes(b"x"), "cannot be run"),
        (lambda f: (f / "model.onnx").unlink(), "optimum-cli export onnx"),
        (lambda f: (f / "tokenizer.json").unlink(), "set judges.detector.tokenizer"),
        (lambda f: (f / "tokenizer.json").write_text("{"), "cannot be read"),
        (lambda f: write_model(f / "model.onnx", table(3), ends="first_step"), None),
    ],
)
def test_a_folder_that_cannot_be_used_says_what_is_wrong(
    spoil: Any, said: str | None, tmp_path: Path
) -> None:
    folder = nli_folder(tmp_path)
    spoil(folder)
    options = {"runtime": "onnx", "model": str(folder)}
    if said is None:
        registry.create("detector", options)  # a decoder's input is fed as well
        return

    with pytest.raises(ConfigurationError, match=said):
        registry.create("detector", options)


async def test_too_few_classes_are_a_failed_score_and_not_a_number(tmp_path: Path) -> None:
    folder = folder_of(
        tmp_path, "bert", NLI | {"id2label": {"0": "x", "1": "y", "2": "entailment"}}
    )
    write_model(folder / "model.onnx", table(2), ends="sum")

    with pytest.raises(ConfigurationError, match="gives 2 numbers"):
        await judged(warranty(aspects=ASKED), model=str(folder))


def test_a_name_that_is_not_in_the_cache_says_how_to_fetch_it(tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")

    with pytest.raises(ConfigurationError, match="local_files_only = false once"):
        registry.create("detector", {"model": "nobody/nothing-here"})


def test_other_settings_are_another_series(tmp_path: Path) -> None:
    folder = str(nli_folder(tmp_path))
    made = [
        str(registry.create("detector", {"runtime": "onnx", "model": folder, **more}).identity)
        for more in ({}, {"max_tokens": 128}, {"answer": "whole"}, {"entailment": 2}, {})
    ]

    assert len(set(made)) == 4
    assert made[0] == made[4]
    assert json.dumps(made[0]).count("detector/") == 1


def test_one_of_several_files_of_a_folder_is_named_by_its_path(tmp_path: Path) -> None:
    folder = nli_folder(tmp_path / "nli")
    write_model(folder / "onnx" / "model_int8.onnx", table(3), ends="sum")

    made = registry.create("detector", {"model": str(folder / "onnx" / "model_int8.onnx")})

    assert str(made.identity).startswith("detector/nli-onnx-model_int8/nli-")


def test_without_torch_the_hint_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = nli_folder(tmp_path)
    module = "rag_monitor.judges.detectors.transformers_runner"
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.delattr("rag_monitor.judges.detectors.transformers_runner", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)

    with pytest.raises(ConfigurationError) as refused:
        registry.create("detector", {"model": str(folder), "runtime": "transformers"})

    assert install_command("gpu") in str(refused.value)
    assert "a folder with model.onnx" in str(refused.value)


def test_reading_its_settings_loads_no_heavy_library() -> None:
    code = (
        "import sys; from rag_monitor.judges.factory import check_tables;"
        "check_tables({'detector': {'model': 'm'}});"
        "print({'torch', 'transformers', 'onnxruntime', 'tokenizers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "set()\n"
