"""How each detector is asked: against the texts that its authors publish."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Template

from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.detectors import create
from rag_monitor.judges.detectors.asking import score_of
from rag_monitor.judges.detectors.facts import Facts, read_facts, recognise
from rag_monitor.judges.detectors.formats import Reads, format_of
from rag_monitor.judges.detectors.loading import guardian_layout
from rag_monitor.judges.detectors.options import DetectorOptions

OPTIONS = DetectorOptions(model="m")
LABELS = {
    "mdeberta": ("entailment", "neutral", "contradiction"),
    "cross-encoder": ("contradiction", "entailment", "neutral"),
    "roberta-mnli": ("contradiction", "neutral", "entailment"),
    "zero-shot": ("entailment", "not_entailment"),
}


def laid(name: str, passages: list[str], text: str, question: str = "", **facts: Any) -> Any:
    return format_of(name, Facts(**facts), OPTIONS).lay_out(passages, text, question)


def test_hhem_reads_the_prompt_of_its_configuration() -> None:
    # The first pair of the model card, through the prompt of configuration_hhem_v2.py.
    assert laid(
        "hhem", ["The capital of France is Berlin."], "The capital of France is Paris."
    ) == (
        "<pad> Determine if the hypothesis is true given the premise?\n\n"
        "Premise: The capital of France is Berlin.\n\n"
        "Hypothesis: The capital of France is Paris.",
        None,
    )


def test_lettucedetect_reads_the_example_of_its_readme() -> None:
    context = (
        "France is a country in Europe. The capital of France is Paris. "
        "The population of France is 67 million."
    )
    question = "What is the capital of France? What is the population of France?"
    answer = "The capital of France is Paris. The population of France is 69 million."

    assert laid("lettucedetect", [context], answer, question) == (
        f"Briefly answer the following question:\n{question}\n"
        "Bear in mind that your response should be strictly based on the following 1 passages:\n"
        f"passage 1: {context}\n"
        "In case the passages do not contain the necessary information to answer the question, "
        'please reply with: "Unable to answer based on given passages."\noutput:',
        answer,
    )
    assert laid("lettucedetect", ["a", "b"], "x")[0] == (
        "Summarize the following text:\npassage 1: a\npassage 2: b\noutput:"
    )


@pytest.mark.parametrize(
    ("facts", "wanted", "reads"),
    [
        ({"model_type": "roberta", "separator": "</s>"}, "D.</s>C.", Reads.CLASSES),
        ({"model_type": "deberta-v2", "separator": "[SEP]"}, "D.[SEP]C.", Reads.CLASSES),
        ({"model_type": "t5", "separator": "</s>"}, "predict: D.</s>C.", Reads.FIRST_STEP),
    ],
)
def test_minicheck_joins_document_and_claim_by_the_end_token(
    facts: dict[str, str], wanted: str, reads: Reads
) -> None:
    form = format_of("minicheck", Facts(**facts), OPTIONS)  # type: ignore[arg-type]

    assert form.lay_out(["D."], "C.", "") == (wanted, None)
    assert form.reads is reads
    assert form.classes == ((3, 209) if reads is Reads.FIRST_STEP else ())


def test_minicheck_without_an_end_token_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="eos_token"):
        format_of("minicheck", Facts(), OPTIONS)


class TemplateTokenizer:
    """A tokenizer as far as its chat template goes."""

    def __init__(self, template: str) -> None:
        self.chat_template = template

    def apply_chat_template(self, messages: Any, **more: Any) -> str:
        assert (more.pop("tokenize"), more["add_generation_prompt"]) == (False, True)
        return Template(self.chat_template).render(messages=messages, **more)


TURNS = "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}"
DOCUMENTS = "{% for d in documents %}<{{ d.doc_id }}>{{ d.text }}\n{% endfor %}"


def test_granite_guardian_3_names_the_risk_and_takes_documents_as_a_turn() -> None:
    layout = guardian_layout(TemplateTokenizer(TURNS + "risk {{ guardian_config['risk_name'] }}"))

    assert layout(["A.", "B."], "Claim.", "Question?") == (
        "[context] A.\nB.\n[assistant] Claim.\nrisk groundedness", None
    )  # fmt: skip


def test_granite_guardian_3_3_names_the_criterion_and_takes_documents_apart() -> None:
    template = DOCUMENTS + TURNS + "{{ guardian_config['criteria_id'] }} {{ think }}"

    assert guardian_layout(TemplateTokenizer(template))(["A.", "B."], "Claim.", "Question?") == (
        "<0>A.\n<1>B.\n[assistant] Claim.\ngroundedness False", None
    )  # fmt: skip


def test_granite_guardian_4_gets_the_criterion_in_words() -> None:
    text, _ = guardian_layout(TemplateTokenizer(DOCUMENTS + TURNS))(["A."], "Claim.", "")

    assert text.startswith("<0>A.\n[assistant] Claim.\n[user] <guardian><no-think>As a judge agent")
    assert "### Criteria: A text is considered ungrounded or unfaithful if" in text
    assert text.endswith("meets the criteria, return 'yes'; otherwise, return 'no'.\n")


@pytest.mark.parametrize("template", ["", TURNS, DOCUMENTS])
def test_a_template_that_drops_what_it_is_given_is_refused(template: str) -> None:
    with pytest.raises(ConfigurationError, match="chat template"):
        guardian_layout(TemplateTokenizer(template))


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_the_order_of_nli_labels_is_read_from_the_configuration(labels: tuple[str, ...]) -> None:
    import numpy as np

    form = format_of("nli", Facts(labels=labels), OPTIONS)
    entails = np.array([4.0 if label == "entailment" else 0.0 for label in labels], np.float32)
    against = np.array([4.0 if label == "contradiction" else 0.0 for label in labels], np.float32)

    assert (score_of(entails, form).supported or 0) > 0.9
    if "contradiction" in labels:
        assert score_of(against, form).contradicted
        assert (score_of(against, form).supported or 1) < 0.1
    assert not score_of(entails, form).contradicted


def test_labels_that_say_nothing_need_the_setting() -> None:
    unnamed = Facts(labels=("label_0", "label_1", "label_2"))

    with pytest.raises(ConfigurationError, match=r"set judges\.detector\.entailment"):
        format_of("nli", unnamed, OPTIONS)
    with pytest.raises(ConfigurationError, match="below 3"):
        format_of("nli", unnamed, DetectorOptions(model="m", entailment=3))

    assert format_of("nli", unnamed, DetectorOptions(model="m", entailment=2)).supported == 2


@pytest.mark.parametrize(
    ("model", "config", "format_"),
    [
        ("vectara/hallucination_evaluation_model",
         {"model_type": "HHEMv2", "architectures": ["HHEMv2ForSequenceClassification"]}, "hhem"),
        ("KRLabsOrg/lettucedect-base-modernbert-en-v1",
         {"model_type": "modernbert", "architectures": ["ModernBertForTokenClassification"]},
         "lettucedetect"),
        ("lytang/MiniCheck-RoBERTa-Large",
         {"model_type": "roberta", "architectures": ["RobertaForSequenceClassification"]},
         "minicheck"),
        ("lytang/MiniCheck-Flan-T5-Large",
         {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]}, "minicheck"),
        ("ibm-granite/granite-guardian-3.1-2b",
         {"model_type": "granite", "architectures": ["GraniteForCausalLM"]}, "granite-guardian"),
        ("MoritzLaurer/mDeBERTa-v3-base-mnli-xnli",
         {"model_type": "deberta-v2", "architectures": ["DebertaV2ForSequenceClassification"],
          "id2label": {"0": "entailment", "1": "neutral", "2": "contradiction"}}, "nli"),
    ],
)  # fmt: skip
def test_published_models_are_recognised_by_their_files(
    model: str, config: dict[str, Any], format_: str, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")

    assert recognise(model, read_facts(tmp_path)) == format_


def test_a_model_that_nothing_is_known_of_asks_for_its_format(tmp_path: Path) -> None:
    config = {"architectures": ["BertForSequenceClassification"], "id2label": {"0": "bad"}}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")

    with pytest.raises(ConfigurationError, match=r"labels: bad\); set judges\.detector\.format"):
        recognise("my-model", read_facts(tmp_path))


def test_positions_in_a_table_bound_what_is_read(tmp_path: Path) -> None:
    config = {"model_type": "xlm-roberta", "max_position_embeddings": 514}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    facts = read_facts(tmp_path)
    nli = Facts(longest=facts.longest, labels=LABELS["mdeberta"])

    assert facts.longest == 512
    with pytest.raises(ConfigurationError, match="at most 512"):
        format_of("nli", nli, DetectorOptions(model="m", max_tokens=1024))
    assert format_of("nli", nli, OPTIONS).max_tokens == 512


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({}, "model must name a folder"),
        ({"model": ""}, "model must name a folder"),
        ({"model": "m", "modle": 1}, "has no setting 'modle'"),
        ({"model": "m", "format": "gpt"}, "format must be one of auto, hhem"),
        ({"model": "m", "runtime": "tf"}, "runtime must be one of"),
        ({"model": "m", "max_tokens": 3}, "max_tokens must be at least 64, not 3"),
        ({"model": "m", "batch_tokens": "many"}, "batch_tokens"),
    ],
)
def test_wrong_settings_are_refused_by_name(table: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        create(table)
