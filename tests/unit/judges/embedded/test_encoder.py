import asyncio
import json
import math
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from benchmarks.embedded_judge import written
from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest
from rag_monitor.errors import ConfigurationError
from rag_monitor.judges.embedded import EmbeddedJudge, create, create_lexical, model
from rag_monitor.judges.embedded import encoder as encoder_module
from rag_monitor.judges.embedded.encoder import (
    LIMIT,
    OnnxEncoder,
    load_encoder,
    shipped_encoder,
)
from rag_monitor.language.script import has_han
from rag_monitor.statistics.agreement import auroc
from tests.unit.judges.embedded import tiny_encoders

ASPECTS = frozenset({Aspect.SUPPORT, Aspect.ANSWER_SUPPORTED})


def learnt_with(encoder: Path, target: Path, weight: float = 1.0) -> Path:
    """The shipped weights with a weight for this encoder."""
    packed = resources.files("rag_monitor.judges.embedded").joinpath("weights.json").read_text()
    data = json.loads(packed)
    data["encoder"] = load_encoder(encoder, 1).version
    for language in data["languages"].values():
        language["read"] = [weight / 2, weight / 2]
    target.write_text(json.dumps(data), encoding="utf-8")
    return target


def lexical_weights(target: Path) -> Path:
    """A copy of the weights that know no encoder."""
    packed = resources.files("rag_monitor.judges.embedded").joinpath("weights.json").read_bytes()
    target.write_bytes(packed)
    return target


@pytest.fixture
def full(tmp_path: Path) -> EmbeddedJudge:
    encoder = tiny_encoders.pairs(tmp_path / "encoder")
    weights = learnt_with(encoder, tmp_path / "weights.json")
    return create({"encoder": str(encoder), "weights": str(weights)})


def asked(answer: str, *contexts: str) -> JudgeRequest:
    return JudgeRequest(question="", answer=answer, contexts=contexts, aspects=ASPECTS)


def support(judgement: Judgement) -> list[float]:
    return [verdict.probability for verdict in judgement.of(Aspect.SUPPORT)]


def test_a_cross_encoder_reads_claim_and_evidence_together(tmp_path: Path) -> None:
    encoder = load_encoder(tiny_encoders.pairs(tmp_path), 1)

    assert encoder.logits([("red ferry", "ferry"), ("Ferry", "none")]) == [
        (-4.0, -4.0),
        (1.0, 1.0),
    ]
    assert encoder.sizes([("red ferry", "ferry")]) == [6]
    assert encoder.logits([]) == []


def test_what_an_encoder_says_is_kept_within_limits(tmp_path: Path) -> None:
    encoder = load_encoder(tiny_encoders.pairs(tmp_path), 1)

    assert encoder.logits([("blue blue", ""), ("red red red", "")]) == [
        (LIMIT, LIMIT),
        (-LIMIT, -LIMIT),
    ]


def test_an_nli_model_says_supported_against_everything_else(tmp_path: Path) -> None:
    encoder = load_encoder(tiny_encoders.classes(tmp_path), 1)

    sure, unsure, against = encoder.logits([("red", ""), ("none", ""), ("ferry", "")])
    assert sure == pytest.approx((-6.0, -6.0), abs=0.01)
    assert unsure == pytest.approx((0.693, 0.693), abs=0.001)
    assert against == pytest.approx((2.0, 2.0), abs=0.4)


def test_a_named_class_is_told_as_contradiction_apart_from_missing_support(tmp_path: Path) -> None:
    folder = tiny_encoders.classes(tmp_path)
    spec = json.loads((folder / "encoder.json").read_text())
    other = next(place for place in range(3) if place != spec["entailment"])
    (folder / "encoder.json").write_text(json.dumps({**spec, "contradiction": other}))

    [(contradicted, missing)] = load_encoder(folder, 1).logits([("ferry", "")])

    together = math.log(math.exp(contradicted) + math.exp(missing))
    assert contradicted != missing
    assert together == pytest.approx(2.0, abs=0.4)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_an_embedding_model_doubts_what_lies_far_apart(tmp_path: Path, pooling: str) -> None:
    encoder = load_encoder(tiny_encoders.texts(tmp_path, pooling), 1)

    near, far = encoder.logits([("red ferry", "red ferry"), ("red", "ferry")])
    assert near == pytest.approx((-2.0, -2.0), abs=0.01)
    assert far > near or pooling == "cls"


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_of_unlike_lengths_give_what_single_rows_give(tmp_path: Path, threads: int) -> None:
    encoder = load_encoder(tiny_encoders.pairs(tmp_path), threads)
    many = [("ferry " * n, "red" if n % 2 else "none") for n in range(1, 150)]

    assert encoder.logits(many) == [encoder.logits([pair])[0] for pair in many]


def test_what_the_shipped_encoder_says_does_not_depend_on_what_else_it_reads() -> None:
    encoder = shipped_encoder(1)
    pairs = [
        ("小周在小学教书。", "小周是一名老师。"),
        ("The ferry leaves at noon from the old pier.", "Ferries leave at noon and at five. " * 4),
    ]

    assert encoder.logits(pairs) == [encoder.logits([pair])[0] for pair in pairs]


def test_the_encoder_moves_the_support_of_a_claim(full: EmbeddedJudge) -> None:
    passage = "The ferry leaves at noon from the old pier."
    lexical = create_lexical({})
    doubted = asked("A blue boat departs at noon.", passage)
    held = asked("A red boat departs at noon.", passage)

    assert support(full.judge_one(doubted)) < support(lexical.judge_one(doubted))
    assert support(full.judge_one(held)) > support(lexical.judge_one(held))


def test_a_contradiction_stays_one_whatever_the_encoder_says(full: EmbeddedJudge) -> None:
    [value] = support(
        full.judge_one(asked("The red ferry is not open.", "The red ferry is open. Red, red."))
    )

    assert value < 0.5


def test_a_batch_gives_what_single_traces_give(full: EmbeddedJudge) -> None:
    requests = [asked(f"A red boat leaves at {n}.", f"The ferry leaves at {n}.") for n in range(9)]

    together = asyncio.run(full.judge_many(requests))

    assert [support(j) for j in together if isinstance(j, Judgement)] == [
        support(full.judge_one(request)) for request in requests
    ]


def test_a_trace_takes_no_more_than_its_window(tmp_path: Path) -> None:
    encoder = tiny_encoders.pairs(tmp_path / "encoder")
    weights = learnt_with(encoder, tmp_path / "weights.json")
    options = {"encoder": str(encoder), "weights": str(weights)}
    narrow = create({**options, "encoder_window": 3})
    request = asked("A blue boat departs at noon.", "The ferry leaves at noon.")

    assert support(narrow.judge_one(request)) == support(create_lexical({}).judge_one(request))


def test_the_identity_says_which_variant_judged(full: EmbeddedJudge) -> None:
    lexical = create_lexical({})

    assert full.identity.name == "embedded"
    assert lexical.identity.name == "embedded-lexical"
    assert full.identity.model != lexical.identity.model


def test_weights_and_encoder_belong_together(tmp_path: Path) -> None:
    encoder = tiny_encoders.pairs(tmp_path / "one")
    other = tiny_encoders.classes(tmp_path / "other")
    weights = str(learnt_with(encoder, tmp_path / "weights.json"))

    plain = str(lexical_weights(tmp_path / "plain.json"))
    with pytest.raises(ConfigurationError, match="know no encoder"):
        create({"encoder": str(encoder), "weights": plain})
    with pytest.raises(ConfigurationError, match="name the folder of theirs"):
        create({"weights": weights})
    with pytest.raises(ConfigurationError, match=r"weights of its own.*or leave `encoder` out"):
        create({"encoder": str(encoder)})
    with pytest.raises(ConfigurationError, match="name its folder as `encoder`"):
        create({"weights": weights, "encoder": str(other)})
    with pytest.raises(ConfigurationError, match="takes no encoder"):
        create_lexical({"encoder": str(encoder)})
    with pytest.raises(ConfigurationError, match="learnt with an encoder"):
        create_lexical({"weights": weights})


def test_weights_that_know_no_encoder_judge_by_words_alone(tmp_path: Path) -> None:
    judge = create({"weights": str(lexical_weights(tmp_path / "plain.json"))})
    request = asked("A blue boat departs at noon.", "The ferry leaves at noon.")

    assert judge.identity.name == "embedded-lexical"
    assert support(judge.judge_one(request)) == support(create_lexical({}).judge_one(request))


def test_the_shipped_encoder_knows_other_words_for_the_same_in_chinese() -> None:
    unseen = [s for s in written.statements() if s.held_out and has_han(s.text)][:400]
    open_ = [not said.supported for said in unseen]

    def ranked(judge: EmbeddedJudge) -> float | None:
        return auroc(
            [-support(judge.judge_one(asked(s.text, s.premise)))[0] for s in unseen], open_
        )

    full, words = ranked(create({})), ranked(create_lexical({}))

    assert full is not None
    assert words is not None
    assert full > words + 0.1


def test_english_statements_are_read() -> None:
    full, words = create({}), create_lexical({})
    request = asked("A blue boat departs at noon.", "The ferry leaves at noon.")

    assert any(model.full().of_language("en").read)
    assert support(full.judge_one(request)) != support(words.judge_one(request))


def test_what_stands_word_for_word_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    monkeypatch.setattr(
        OnnxEncoder,
        "logits",
        lambda _self, pairs: read.append(len(pairs)) or [(0.0, 0.0)] * len(pairs),
    )
    judge = create({})
    judge.judge_one(asked("The ferry leaves at noon.", "The ferry leaves at noon."))
    judge.judge_one(asked("The ferry leaves at noon. It is blue.", "The ferry leaves at noon."))

    assert read == [1]


def test_a_lone_surrogate_is_read_as_an_unknown_letter() -> None:
    judgement = create({}).judge_one(asked("小周是一名\ud800老师。", "小周在县城的小学教书。"))

    assert 0 < support(judgement)[0] < 1


def test_nothing_is_read_where_support_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = create({})
    read: list[int] = []
    monkeypatch.setattr(
        OnnxEncoder,
        "logits",
        lambda _self, pairs: read.append(len(pairs)) or [(0.0, 0.0)] * len(pairs),
    )
    request = asked("小周是一名老师。他住在县城。", "小周在县城的小学教书。")

    judge.judge_one(replace(request, aspects=frozenset({Aspect.RELEVANCE, Aspect.COVERAGE})))
    assert read == []
    judge.judge_one(request)
    assert read == [2]


def test_what_the_shipped_encoder_says_of_a_trace_does_not_depend_on_its_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judge = create({})
    requests = [
        asked(f"小周在第{n}小学教书，工资{n}千元。", f"小周是第{n}小学的老师，每月拿{n}千元。" * n)
        for n in range(1, 7)
    ]

    read: list[int] = []
    logits = OnnxEncoder.logits
    monkeypatch.setattr(
        OnnxEncoder,
        "logits",
        lambda self, pairs: read.append(len(pairs)) or logits(self, pairs),
    )

    together = asyncio.run(judge.judge_many(requests))

    assert read == [1] * len(requests)
    assert [support(j) for j in together if isinstance(j, Judgement)] == [
        support(judge.judge_one(request)) for request in requests
    ]


def test_judges_of_a_process_share_the_shipped_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[Path] = []
    load = encoder_module.load_encoder
    monkeypatch.setattr(
        encoder_module,
        "load_encoder",
        lambda folder, threads: loaded.append(folder) or load(folder, threads),
    )
    shipped_encoder.cache_clear()

    assert create({}).identity == create({}).identity
    assert len(loaded) == 1


def test_a_folder_that_cannot_be_used_is_refused_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"encoder\.json"):
        load_encoder(tmp_path, 1)
    folder = tiny_encoders.pairs(tmp_path / "encoder")
    (folder / "model.onnx").write_bytes(b"no model")
    with pytest.raises(ConfigurationError, match="cannot be run"):
        load_encoder(folder, 1)
    (folder / "encoder.json").write_text('{"format": 1, "reads": "minds"}', encoding="utf-8")
    with pytest.raises(ConfigurationError, match="reads"):
        load_encoder(folder, 1)


def test_a_missing_weights_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="weights"):
        create({"weights": str(tmp_path / "none.json")})


def test_states_are_the_first_token_the_means_of_both_texts_and_the_greatest_of_the_second() -> (
    None
):
    encoder = shipped_encoder(1)

    [alone, empty] = encoder.states([("red ferry", "the ferry is red"), ("red ferry", "")])

    first, question, evidence, greatest = np.split(alone, 4)
    assert len(first) == len(question)
    assert (greatest >= evidence).all()
    assert not np.split(empty, 4)[2].any()
    assert encoder.states([]) == []
