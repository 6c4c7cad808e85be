"""The packed judge: templates, cutting, labels, generation, the worked example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from rag_monitor.domain.judgement import Aspect, JudgeRequest
from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.packed import create
from rag_monitor.judges.packed.engine import PackedEngine, Tree
from rag_monitor.judges.packed.judge import PackedJudge
from rag_monitor.judges.packed.loading import assemble, load_model
from rag_monitor.judges.packed.options import PackedOptions
from rag_monitor.judges.packed.template import ChatTemplate
from rag_monitor.judges.prompts import PromptSet, prompts_for
from rag_monitor.judges.questions import ASKABLE, make_plan
from rag_monitor.metrics.rag import score_trace
from rag_monitor.testing import make_trace
from tests.unit.judges.requests import LOAN_VERDICTS, LOGIT_ASPECTS, loan, warranty
from tests.unit.judges.tiny_models import TEMPLATES, make_model, make_tokenizer, trusting

OPTIONS = PackedOptions(model="models/tiny")


class ScriptedEngine(PackedEngine):
    """A real engine whose logits are replaced by those of a competent model."""

    def script(self, request: JudgeRequest) -> None:
        plan = make_plan(request, LOGIT_ASPECTS)
        self.values = [LOAN_VERDICTS[q.aspect][q.index] for q in plan.questions]

    def masses(self, trees: Sequence[Tree]) -> list[list[tuple[float, float]]]:
        assert [len(row) for row in super().masses(trees)] == [len(self.values)] * len(trees)
        return [[(0.98 * p, 0.98 * (1 - p)) for p in self.values] for _ in trees]


async def test_the_worked_example_is_scored_as_designed() -> None:
    tokenizer = make_tokenizer()
    engine = ScriptedEngine(make_model(), [2], [3])
    engine.script(loan())
    judge = PackedJudge(OPTIONS, engine, ChatTemplate(tokenizer))
    trace = make_trace(loan().question, loan().answer, loan().contexts)

    judgement = await judge.judge(loan())
    await judge.close()

    wanted = {
        "faithfulness": 1.0,
        "answer_relevance": 1.0,
        "context_relevance": 1 / 3,
        "context_utilization": 1 / 3,
        "context_recall": 1.0,
    }
    scores = {s.metric: s.value for s in score_trace(trace, judgement, list(wanted))}
    assert scores == {metric: pytest.approx(value, abs=0.05) for metric, value in wanted.items()}
    assert judgement.usage.calls == 1
    assert engine.passes == 2, "the self-test and one pass for the whole trace"


@pytest.mark.parametrize("family", TEMPLATES)
def test_the_pieces_of_a_template_add_up_to_the_whole(family: str) -> None:
    tokenizer = make_tokenizer(family)
    template = ChatTemplate(tokenizer)
    system, evidence, question = "Judge it.", "evidence here", "Is it so?"

    ids = [*template.prefix(system, evidence), *template.branch(system, question)]

    user = f"{evidence}\n{question}"
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    if family == "gemma":
        messages = [{"role": "user", "content": f"{system}\n\n{user}"}]
    whole = tokenizer.apply_chat_template(
        messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
    )
    assert tokenizer.decode(ids) == whole


@pytest.mark.parametrize("family", TEMPLATES)
def test_text_of_a_trace_forms_no_special_token(family: str) -> None:
    tokenizer = make_tokenizer(family)
    template = ChatTemplate(tokenizer)
    specials = set(tokenizer.all_special_ids)

    assert specials.isdisjoint(template.plain("<|im_start|>system [INST] <start_of_turn> <bos>"))
    assert not specials.isdisjoint(template.prefix("Judge it.", "x"))


def test_a_tokenizer_without_a_chat_template_is_refused() -> None:
    tokenizer = make_tokenizer()
    tokenizer.chat_template = None

    with pytest.raises(ConfigurationError, match="no chat template"):
        ChatTemplate(tokenizer)


async def test_a_model_that_says_neither_yes_nor_no_gives_no_verdict() -> None:
    judge = assemble(OPTIONS, make_model(), make_tokenizer())

    judgement = await judge.judge(warranty())
    await judge.close()

    assert set(judgement.missing.values()) == {"low_label_mass"}


async def test_long_passages_are_cut_and_the_judgement_says_so() -> None:
    judge = assemble(
        PackedOptions(model="tiny", max_tokens=1_500), trusting(make_model()), make_tokenizer()
    )

    judgement = await judge.judge(warranty(contexts=("warranty " * 3_000, "short")))
    await judge.close()

    assert 0.0 < judgement.coverage < 0.5
    assert judgement.usage.input_tokens <= 1_500
    assert len(judgement.of(Aspect.SUPPORT)) == 2


async def test_a_trace_whose_questions_do_not_fit_does_not_spoil_its_neighbours() -> None:
    judge = assemble(
        PackedOptions(model="tiny", max_tokens=1_500), trusting(make_model()), make_tokenizer()
    )
    huge = warranty(answer=" ".join(f"Clause {n} lasts {n} months." for n in range(200)))

    good, bad = await judge.judge_many([warranty(), huge])
    await judge.close()

    assert not isinstance(good, Exception)
    assert isinstance(bad, Exception)
    assert "max_tokens" in str(bad)


class _Writer:
    """Writes what the test says, and remembers what the model was shown."""

    def __init__(self, texts: Mapping[str, list[str] | None]) -> None:
        self.texts = texts
        self.shown: dict[str, Any] = {}

    def write(
        self, kind: str, count: int, tasks: Sequence[tuple[Mapping[str, Any], PromptSet]]
    ) -> list[list[str] | None]:
        self.shown[kind] = [dict(evidence) for evidence, _ in tasks]
        return [self.texts[kind] for _ in tasks]


class _Embedder:
    name = "axes"

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return [[1.0, 0.0] if "warranty" in text else [0.6, 0.8] for text in texts]


async def test_written_questions_and_key_points_become_verdicts() -> None:
    writer = _Writer(
        {
            "questions": ["How long is the warranty?", "What else?", "Why?"],
            "key_points": ["the duration"],
            "summary_questions": None,
        }
    )
    engine = PackedEngine(trusting(make_model()), *_labels())
    judge = PackedJudge(
        PackedOptions(model="tiny", generate=True),
        engine,
        ChatTemplate(make_tokenizer()),
        writer=writer,  # type: ignore[arg-type]
        embedder=_Embedder(),
    )

    judgement = await judge.judge(warranty(aspects=ASKABLE))
    await judge.close()

    cosines = [v.probability for v in judgement.of(Aspect.QUESTION_SIMILARITY)]
    assert cosines == pytest.approx([1.0, 0.6, 0.6])
    assert [v.text for v in judgement.of(Aspect.COVERAGE)] == ["the duration"]
    assert judgement.missing == {Aspect.SUMMARY_QUESTION: "verdict_missing"}
    assert "question" not in writer.shown["questions"][0]
    assert "passages" not in writer.shown["key_points"][0]


def _labels() -> tuple[list[int], list[int]]:
    template, prompts = ChatTemplate(make_tokenizer()), prompts_for(warranty())
    return template.label_ids(prompts.yes), template.label_ids(prompts.no)


async def test_a_model_writes_in_batches_and_nonsense_is_no_list() -> None:
    judge = assemble(
        PackedOptions(model="tiny", generate=True, questions=1),
        trusting(make_model()),
        make_tokenizer(),
        embedder=_Embedder(),
    )
    request = warranty(aspects=frozenset({Aspect.QUESTION_SIMILARITY}))

    first, second = await judge.judge_many([request, request])
    await judge.close()

    assert first.missing == second.missing == {Aspect.QUESTION_SIMILARITY: "verdict_missing"}  # type: ignore[union-attr]


async def test_a_saved_model_is_loaded_from_safetensors_and_judges(tmp_path: Any) -> None:
    trained = make_model("llama")
    trained.save_pretrained(tmp_path, safe_serialization=True)
    make_tokenizer("llama").save_pretrained(tmp_path)

    judge = create({"model": str(tmp_path)})
    judgement = await judge.judge(warranty())
    await judge.close()

    assert judge.identity.model == f"{tmp_path.name}+float32"
    assert judgement.usage.input_tokens > 0


def test_a_pickled_model_is_not_loaded(tmp_path: Any) -> None:
    import torch

    model = make_model("llama")
    model.config.save_pretrained(tmp_path)
    make_tokenizer("llama").save_pretrained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")

    with pytest.raises(ConfigurationError, match="cannot load"):
        load_model(PackedOptions(model=str(tmp_path)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": ""}, "must name"),
        ({"model": "m", "dtype": "int3"}, "dtype"),
        ({"model": "m", "modle": 1}, "no setting 'modle'"),
        ({}, "model"),
        ({"model": "m", "model_statements": True}, "generate"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        create(settings)
