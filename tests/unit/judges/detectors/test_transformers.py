"""Detectors through torch: tiny random models of the real architectures, beside the plain way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="detectors through transformers need torch (extra gpu)")
pytest.importorskip("transformers", reason="they need transformers (extra gpu)")

import torch
import transformers
from safetensors.torch import save_file

from rag_monitor.domain.judgement import Aspect, JudgeRequest
from rag_monitor.errors import ConfigurationError
from rag_monitor.judges import registry
from rag_monitor.judges.detectors.transformers_runner import WordRunner, load_hhem
from tests.unit.judges.detectors.tiny_detectors import folder_of, tokenizer
from tests.unit.judges.requests import warranty

ASKED = frozenset({Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED})
SIZE = {"vocab_size": 400, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 48, "initializer_range": 0.4}  # fmt: skip
T5_SIZE = {"vocab_size": 400, "d_model": 32, "d_kv": 16, "d_ff": 48, "num_layers": 2,
           "num_heads": 2, "feed_forward_proj": "gated-gelu",
           "decoder_start_token_id": 0}  # fmt: skip
NLI_LABELS = {0: "entailment", 1: "neutral", 2: "contradiction"}
REQUEST = warranty(aspects=ASKED, contexts=("The standard warranty lasts 24 months.",))
PASSAGE = "The standard warranty lasts 24 months."
STATEMENTS = ("The warranty lasts 24 months.", "It covers parts.")


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


def saved(model: Any, path: Path, kind: str) -> str:
    """The folder of a model, with its tokenizer."""
    path.mkdir(parents=True)
    model.save_pretrained(path)
    folder_of(path, kind, json.loads((path / "config.json").read_text(encoding="utf-8")))
    return str(path)


def drawn(make: Callable[[], Any]) -> Any:
    torch.manual_seed(1)
    return make().eval()


async def probabilities(request: JudgeRequest, **options: Any) -> tuple[list[float], float]:
    """Of each statement, and of the answer."""
    judge = registry.create("detector", {"runtime": "transformers", "device": "cpu", **options})
    judgement = await judge.judge(request)
    await judge.close()
    (answer,) = judgement.of(Aspect.ANSWER_SUPPORTED)
    return [verdict.probability for verdict in judgement.of(Aspect.SUPPORT)], answer.probability


def ids(kind: str, *texts: str) -> Any:
    return torch.tensor([tokenizer(kind).encode(*texts).ids])


def plain(logits: Any, place: int) -> float:
    return float(torch.softmax(logits.float(), -1)[..., place])


@pytest.mark.parametrize("kind", ["roberta", "deberta"])
async def test_minicheck_of_an_encoder_scores_as_its_authors_run_it(
    kind: str, tmp_path: Path
) -> None:
    if kind == "roberta":
        config: Any = transformers.RobertaConfig(
            **SIZE, max_position_embeddings=514, pad_token_id=0, num_labels=2
        )
        model = drawn(lambda: transformers.RobertaForSequenceClassification(config))
        tokens, end = "roberta", "</s>"
    else:
        config = transformers.DebertaV2Config(
            **SIZE, relative_attention=True, position_biased_input=False,
            pos_att_type=["p2c", "c2p"], position_buckets=16, norm_rel_ebd="layer_norm",
            share_att_key=True, type_vocab_size=0, num_labels=2,
        )  # fmt: skip
        model = drawn(lambda: transformers.DebertaV2ForSequenceClassification(config))
        tokens, end = "bert", "[SEP]"
    folder = saved(model, tmp_path / "MiniCheck", tokens)

    support, answer = await probabilities(REQUEST, model=folder)

    wanted = [plain(model(ids(tokens, PASSAGE + end + s)).logits[0], 1) for s in STATEMENTS]
    assert support == pytest.approx(wanted, abs=1e-5)
    assert answer == min(support)
    assert abs(support[0] - support[1]) > 1e-3


async def test_minicheck_of_flan_t5_scores_as_its_authors_run_it(tmp_path: Path) -> None:
    config = transformers.T5Config(**T5_SIZE)
    model = drawn(lambda: transformers.T5ForConditionalGeneration(config))
    folder = saved(model, tmp_path / "MiniCheck-Flan-T5", "t5")

    support, _ = await probabilities(REQUEST, model=folder)

    wanted = []
    for statement in STATEMENTS:
        fed = ids("t5", f"predict: {PASSAGE}</s>{statement}")
        logits = model(
            input_ids=fed, decoder_input_ids=torch.zeros((1, 1), dtype=torch.long)
        ).logits
        wanted.append(plain(logits[0, 0, [3, 209]], 1))
    assert support == pytest.approx(wanted, abs=1e-5)


async def test_hhem_scores_as_its_own_code_does(tmp_path: Path) -> None:
    config = transformers.T5Config(**T5_SIZE, num_labels=2)
    model = drawn(lambda: transformers.T5ForTokenClassification(config))
    torch.nn.init.normal_(model.classifier.weight)
    own = {"architectures": ["HHEMv2ForSequenceClassification"], "model_type": "HHEMv2"}
    folder = folder_of(tmp_path / "hhem", "t5", own)
    weights = {f"t5.{name}": weight.clone() for name, weight in model.state_dict().items()}
    del weights["t5.transformer.encoder.embed_tokens.weight"]
    save_file(weights, str(folder / "model.safetensors"))

    support, answer = await probabilities(REQUEST, model=str(folder))

    def published(hypothesis: str) -> float:
        text = (
            "<pad> Determine if the hypothesis is true given the premise?\n\n"
            f"Premise: {PASSAGE}\n\nHypothesis: {hypothesis}"
        )
        return plain(model(ids("t5", text)).logits[0, 0], 1)

    assert support == pytest.approx([published(s) for s in STATEMENTS], abs=1e-5)
    assert answer == pytest.approx(published(REQUEST.answer), abs=1e-5)
    assert load_hhem(folder).config.d_ff == 48


def test_weights_that_are_no_hhem_are_refused(tmp_path: Path) -> None:
    save_file({"t5.classifier.weight": torch.zeros(2, 4)}, str(tmp_path / "model.safetensors"))

    with pytest.raises(ConfigurationError, match=r"no weights of HHEM-2\.1-Open"):
        load_hhem(tmp_path)


async def test_lettucedetect_takes_each_statement_by_its_worst_token(tmp_path: Path) -> None:
    config = transformers.ModernBertConfig(
        **SIZE, num_labels=2, pad_token_id=0, cls_token_id=1, sep_token_id=2, bos_token_id=1,
        eos_token_id=2, max_position_embeddings=512,
    )  # fmt: skip
    model = drawn(lambda: transformers.ModernBertForTokenClassification(config))
    folder = saved(model, tmp_path / "lettuce", "bert")

    support, answer = await probabilities(REQUEST, model=folder)

    prompt = (
        f"Briefly answer the following question:\n{REQUEST.question}\n"
        "Bear in mind that your response should be strictly based on the following 1 passages:\n"
        f"passage 1: {PASSAGE}\n"
        "In case the passages do not contain the necessary information to answer the question, "
        'please reply with: "Unable to answer based on given passages."\noutput:'
    )
    encoding = tokenizer("bert").encode(prompt, REQUEST.answer)
    shares = torch.softmax(model(torch.tensor([encoding.ids])).logits[0], -1)[:, 1]
    wanted = []
    for statement in STATEMENTS:
        start = REQUEST.answer.index(statement)
        own = [
            float(shares[n])
            for n, (a, b) in enumerate(encoding.offsets)
            if encoding.sequence_ids[n] == 1 and a < start + len(statement) and b > start
        ]
        wanted.append(1 - max(own))
    assert support == pytest.approx(wanted, abs=1e-5)
    assert answer == pytest.approx(min(wanted), abs=1e-5)


async def test_an_nli_cross_encoder_scores_entailment_by_its_labels(tmp_path: Path) -> None:
    config = transformers.DebertaV2Config(
        **SIZE,
        type_vocab_size=0,
        id2label=NLI_LABELS,
        label2id={v: k for k, v in NLI_LABELS.items()},
    )
    model = drawn(lambda: transformers.DebertaV2ForSequenceClassification(config))
    folder = saved(model, tmp_path / "nli", "bert")

    support, _ = await probabilities(REQUEST, model=folder)

    wanted = [plain(model(ids("bert", PASSAGE, s)).logits[0], 0) for s in STATEMENTS]
    assert support == pytest.approx(wanted, abs=1e-5)


async def test_segments_are_told_to_models_that_know_them(tmp_path: Path) -> None:
    config = transformers.BertConfig(
        **SIZE, type_vocab_size=2, id2label=NLI_LABELS,
        label2id={v: k for k, v in NLI_LABELS.items()},
    )  # fmt: skip
    model = drawn(lambda: transformers.BertForSequenceClassification(config))
    folder = saved(model, tmp_path / "nli", "bert")

    support, _ = await probabilities(REQUEST, model=folder)

    encoding = tokenizer("bert").encode(PASSAGE, STATEMENTS[0])
    fed = [torch.tensor([row]) for row in (encoding.ids, encoding.type_ids)]
    wanted = plain(model(input_ids=fed[0], token_type_ids=fed[1]).logits[0], 0)
    assert support[0] == pytest.approx(wanted, abs=1e-5)


async def test_padding_and_batches_change_nothing(tmp_path: Path) -> None:
    config = transformers.RobertaConfig(
        **SIZE, max_position_embeddings=514, pad_token_id=0, num_labels=2
    )
    model = drawn(lambda: transformers.RobertaForSequenceClassification(config))
    folder = saved(model, tmp_path / "MiniCheck", "roberta")
    requests = [warranty(aspects=ASKED, contexts=("parts " * n,)) for n in (1, 300, 20)]
    judge = registry.create("detector", {"model": folder, "device": "cpu", "batch_tokens": 900})

    together = await judge.judge_many(requests)
    alone = [await judge.judge(request) for request in requests]
    able = await judge.inspect()  # type: ignore[attr-defined]
    await judge.close()

    for one, other in zip(together, alone, strict=True):
        assert not isinstance(one, Exception)
        assert [v.probability for v in one.verdicts] == pytest.approx(
            [v.probability for v in other.verdicts], abs=1e-5
        )
    assert able["runs_on"] == "transformers, cpu, float32"
    assert able["window_tokens"] == 400


TEMPLATES = {
    "3.1": (
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
        "{{ guardian_config['risk_name'] }}<|assistant|>"
    ),
    "3.3": (
        "{% for d in documents %}<|document|>{{ d.text }}{% endfor %}"
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
        "{{ guardian_config['criteria_id'] }}<|assistant|>"
    ),
}


def guardian(path: Path, template: str, written: Sequence[str]) -> str:
    """A Granite model; with `written` one that writes these tokens whatever it reads.

    Its layers then add nothing, so that the last token alone decides: each token of `written`
    points at the next one, every other token at the first, the last one at itself.
    """
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer("roberta"), eos_token="</s>", pad_token="<pad>"
    )
    fast.chat_template = template
    config = transformers.GraniteConfig(
        vocab_size=400, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, intermediate_size=48, initializer_range=0.4, pad_token_id=0,
        tie_word_embeddings=False, max_position_embeddings=4096, eos_token_id=2, bos_token_id=1,
    )  # fmt: skip
    model = drawn(lambda: transformers.GraniteForCausalLM(config))
    if written:
        places = [fast(text, add_special_tokens=False)["input_ids"] for text in written]
        assert all(len(place) == 1 for place in places)
        chain = [place[0] for place in places]
        with torch.no_grad():
            for name, weight in model.named_parameters():
                if "o_proj" in name or "down_proj" in name or "embed" in name or "lm_head" in name:
                    weight.zero_()
            model.get_input_embeddings().weight[:, 0] = 1.0
            for step, token in enumerate(chain):
                model.get_output_embeddings().weight[token, step] = 10.0
                following = min(step + 1, len(chain) - 1)
                model.get_input_embeddings().weight[token] = torch.eye(32)[following]
    path.mkdir()
    fast.save_pretrained(path)
    model.save_pretrained(path)
    return str(path)


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
async def test_granite_guardian_reads_yes_as_not_grounded(template: str, tmp_path: Path) -> None:
    folder = Path(guardian(tmp_path / "granite-guardian", template, ()))
    fast = transformers.AutoTokenizer.from_pretrained(folder)
    from rag_monitor.judges.detectors.loading import guardian_layout
    from rag_monitor.judges.detectors.options import DetectorOptions
    from rag_monitor.judges.detectors.texts import Texts

    runner = WordRunner(folder, fast, DetectorOptions(model=str(folder), device="cpu"))
    texts = Texts(fast.backend_tokenizer, special_tokens=False)
    layout = guardian_layout(fast)
    encodings = [texts.encode(*layout([PASSAGE], s, "")) for s in (*STATEMENTS, PASSAGE * 3)]

    found = runner._written([e.ids for e in encodings], 1)

    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    yes, no = ([fast(f"{b}{w}", add_special_tokens=False)["input_ids"] for b in ("", " ")
                for w in words] for words in (("yes", "Yes"), ("no", "No")))  # fmt: skip
    for encoding, masses in zip(encodings, found, strict=True):
        shares = torch.softmax(model(torch.tensor([encoding.ids])).logits[0, -1], -1)
        for tokens, mass in zip((yes, no), masses, strict=True):
            known = {row[0] for row in tokens if len(row) == 1}
            assert known
            assert float(mass) == pytest.approx(float(sum(shares[n] for n in known)), abs=1e-5)


@pytest.mark.parametrize(
    ("written", "supported"),
    [(("Yes",), 0.0), (("No",), 1.0), ((">", "Yes"), 0.0), ((">", "<", "No"), 1.0)],
)
async def test_granite_guardian_says_yes_or_no_at_once_or_behind_a_tag(
    written: tuple[str, ...], supported: float, tmp_path: Path
) -> None:
    folder = guardian(tmp_path / "granite-guardian", TEMPLATES["3.3"], written)

    support, answer = await probabilities(REQUEST, model=folder)

    assert [*support, answer] == pytest.approx([supported] * 3, abs=1e-6)


async def test_a_model_that_says_neither_yes_nor_no_gives_no_verdict(tmp_path: Path) -> None:
    folder = guardian(tmp_path / "granite-guardian", TEMPLATES["3.1"], (">",))
    judge = registry.create("detector", {"model": folder, "device": "cpu"})

    judgement = await judge.judge(REQUEST)
    await judge.close()

    assert judgement.verdicts == ()
    assert set(judgement.missing.values()) == {"low_label_mass"}


def test_weights_other_than_safetensors_are_refused(tmp_path: Path) -> None:
    config = transformers.BertConfig(**SIZE, id2label=NLI_LABELS)
    folder = folder_of(tmp_path, "bert", config.to_dict() | {
        "architectures": ["BertForSequenceClassification"]
    })  # fmt: skip
    torch.save({}, folder / "pytorch_model.bin")

    with pytest.raises(ConfigurationError, match="cannot load the detector"):
        registry.create("detector", {"model": str(folder), "device": "cpu"})
