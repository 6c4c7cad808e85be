"""BERTScore and perplexity on small models made for the test."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="model-backed metrics need PyTorch")
pytest.importorskip("transformers", reason="model-backed metrics need transformers")

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)

from rag_monitor.errors import ConfigurationError, NotApplicable
from rag_monitor.metrics.text.bertscore import BertScorer
from rag_monitor.metrics.text.encoder import Encoder, SimilarityScorer, cosine
from rag_monitor.metrics.text.overlap import PrecisionRecallF1
from rag_monitor.metrics.text.perplexity import PerplexityModel, TextPerplexity
from rag_monitor.offline.file_run import FileEvaluation
from rag_monitor.offline.run_settings import FileOptions
from rag_monitor.testing import EPOCH

_ENGLISH = "the rate is four percent loan bank"
_WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *_ENGLISH.split(), *"利率为百分之四"]


def _tokenizer(*, special: bool) -> PreTrainedTokenizerFast:
    vocabulary = {word: place for place, word in enumerate(_WORDS)}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if special:
        core.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]" if special else None,
        sep_token="[SEP]" if special else None,
        model_max_length=64,
    )


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(_WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(folder)
    _tokenizer(special=True).save_pretrained(folder)
    return Encoder(folder, batch_size=3)


@pytest.fixture(scope="module")
def language_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("language_model")
    torch.manual_seed(1)
    config = GPT2Config(
        vocab_size=len(_WORDS), n_positions=16, n_embd=16, n_layer=2, n_head=2, bos_token_id=None
    )
    GPT2LMHeadModel(config).save_pretrained(folder)
    _tokenizer(special=False).save_pretrained(folder)
    return folder


def _reference_score(encoder: Encoder, text: str, reference: str) -> tuple[float, float]:
    """Greedy matching written out from the paper, one text at a time, without batches."""
    sides = []
    for value in (text, reference):
        ids = encoder.tokenizer(value, return_tensors="pt")
        with torch.inference_mode():
            hidden = encoder.model(**ids).last_hidden_state[0]
        sides.append(hidden / hidden.norm(dim=-1, keepdim=True))
    cosines = sides[0] @ sides[1].T
    precision = cosines.max(dim=1).values[1:-1].mean()
    recall = cosines.max(dim=0).values[1:-1].mean()
    return float(precision), float(recall)


def test_bertscore_equals_greedy_matching_without_batches(encoder: Encoder) -> None:
    pairs = [
        ("the rate is four percent", ["four percent is the rate of the loan"]),
        ("bank", ["the bank"]),
        ("利率为百分之四", ["百分之四为利率"]),
        ("loan loan loan rate", ["利率"]),
    ]

    scores = BertScorer(encoder).score(pairs)

    for (text, (reference,)), score in zip(pairs, scores, strict=True):
        assert isinstance(score, PrecisionRecallF1)
        precision, recall = _reference_score(encoder, text, reference)
        assert (score.precision, score.recall) == pytest.approx((precision, recall), abs=1e-5)


def test_a_text_equal_to_its_reference_scores_one(encoder: Encoder) -> None:
    (score,) = BertScorer(encoder).score([("the rate is four", ["the rate is four"])])

    assert isinstance(score, PrecisionRecallF1)
    assert score.f1 == pytest.approx(1.0, abs=1e-5)


def test_a_text_without_tokens_scores_nothing_and_a_reference_without_any_is_not_applicable(
    encoder: Encoder,
) -> None:
    pairs = [("", ["the rate"]), ("", ["", "the rate"]), ("the rate", [""]), ("the rate", [])]

    first, second, *others = BertScorer(encoder).score(pairs)

    assert first == second == PrecisionRecallF1(0.0, 0.0, 0.0)
    assert list(map(str, others)) == ["no tokens in the reference", "no reference"]


def test_no_score_of_an_encoder_passes_one(encoder: Encoder) -> None:
    words = ["the", "rate", "is", "four", "percent", "bank", "loan", "利率", "为", "百分之四"]
    texts = [" ".join(words[place:] + words[:place]) for place in range(len(words))]

    scores = BertScorer(encoder).score([(text, [text]) for text in texts])
    cosines = SimilarityScorer(encoder).score([(text, [text]) for text in texts])

    assert all(max(s.precision, s.recall, s.f1) <= 1 for s in scores)  # type: ignore[union-attr]
    assert all(value <= 1 for value in cosines)  # type: ignore[operator]


def test_perplexity_equals_the_plain_definition_on_a_short_text(language_model: Path) -> None:
    model = PerplexityModel(language_model)
    text = "the rate is four percent"
    ids = model.tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        loss = model.model(input_ids=ids, labels=ids).loss

    result = model.score([text])

    assert result.corpus == pytest.approx(math.exp(float(loss)), rel=1e-5)
    assert result.texts[0] == TextPerplexity(pytest.approx(result.corpus), 4)


def test_a_long_text_is_predicted_token_by_token_exactly_once(language_model: Path) -> None:
    model = PerplexityModel(language_model, window=8, stride=3, batch_size=2)
    text = "the rate is four percent loan bank the rate is four percent the bank is four"

    (part,) = model.score([text]).texts

    assert isinstance(part, TextPerplexity)
    assert part.tokens == len(text.split()) - 1


def test_the_corpus_figure_weighs_by_tokens(language_model: Path) -> None:
    model = PerplexityModel(language_model)
    result = model.score(["the rate", "loan bank the rate is four percent", "x"])
    scored = [part for part in result.texts if isinstance(part, TextPerplexity)]
    tokens = sum(part.tokens for part in scored)
    weighted = math.exp(sum(part.tokens * math.log(part.value) for part in scored) / tokens)

    assert result.corpus == pytest.approx(weighted, rel=1e-6)
    assert result.mean == pytest.approx(sum(part.value for part in scored) / len(scored))
    assert isinstance(result.texts[2], NotApplicable)


def test_batches_do_not_change_perplexity(language_model: Path) -> None:
    texts = ["the rate is four", "bank loan percent", "利率为百分之四", "the the the the the"]
    one = PerplexityModel(language_model, batch_size=1).score(texts)
    many = PerplexityModel(language_model, batch_size=4).score(texts)

    assert many.corpus == pytest.approx(one.corpus, rel=1e-5)


def test_a_missing_model_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be loaded"):
        Encoder(tmp_path / "nowhere")
    with pytest.raises(ConfigurationError, match="cannot be loaded"):
        PerplexityModel(tmp_path / "nowhere")


def test_similarity_is_the_cosine_of_mean_pooled_tokens(encoder: Encoder) -> None:
    pairs = [
        ("the rate is four", ["the rate is four"]),
        ("bank loan", ["利率为百分之四", "bank"]),
        ("", ["bank"]),
        ("bank", []),
    ]

    same, best, empty, alone = SimilarityScorer(encoder).score(pairs)

    assert same == pytest.approx(1.0, abs=1e-6)
    expected = []
    for text in ("bank loan", "利率为百分之四", "bank"):
        (encoded,) = encoder.token_embeddings([text])
        expected.append(encoded.vectors[list(encoded.inner)].mean(dim=0).tolist())
    assert best == pytest.approx(
        max(cosine(expected[0], other) for other in expected[1:]), abs=1e-6
    )
    assert empty == 0.0
    assert str(alone) == "no reference"


async def test_models_score_the_rows_of_a_file(
    encoder: Encoder, language_model: Path, tmp_path: Path
) -> None:
    rows = [
        {"id": "a", "question": "q", "answer": "the rate is four", "reference": "the rate is four"},
        {"id": "b", "question": "q", "answer": "bank loan the", "reference": "利率为百分之四"},
        {"id": "c", "question": "q", "answer": "bank"},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    options = FileOptions(
        metrics=("bertscore_f1", "semantic_similarity", "perplexity"),
        encoder=encoder.name,
        perplexity=str(language_model),
    )
    run = FileEvaluation(path, options, None, 3)
    await run.run()
    report = run.tally.report(file="rows", created_at=EPOCH)

    bertscore, similarity, perplexity = report.metrics
    assert (bertscore.scored, bertscore.reasons) == (2, {"no_reference": 1})
    assert bertscore.largest == pytest.approx(1.0, abs=1e-5)
    assert similarity.largest == pytest.approx(1.0, abs=1e-5)
    assert (perplexity.scored, perplexity.not_applicable) == (2, 1)
    plain = PerplexityModel(language_model).score([row["answer"] for row in rows])
    assert report.corpus["corpus_perplexity"].value == pytest.approx(plain.corpus, rel=1e-6)
    assert perplexity.mean == pytest.approx(plain.mean, rel=1e-6)
