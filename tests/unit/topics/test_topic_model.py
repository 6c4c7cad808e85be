"""Topics from questions alone: grouping, ids that stay, new topics, names."""

from __future__ import annotations

import random
from copy import deepcopy
from itertools import chain

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score

from benchmarks.topics.intents import LANGUAGES, labelled, read
from rag_monitor.topics.linkage import average_linkage
from rag_monitor.topics.model import TopicModel
from rag_monitor.topics.naming import HOLDERS, name_topics, words_of
from rag_monitor.topics.options import MAX_FREQUENCIES, MAX_TERMS, MAX_TOPICS
from rag_monitor.topics.terms import terms_of


@pytest.mark.parametrize("seed", range(5))
def test_average_linkage_groups_as_scipy_does(seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(60, 4))
    distances = np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1))
    cut = float(np.quantile(distances, 0.3))

    ours = average_linkage(distances.astype(np.float32), [1] * 60, cut)
    theirs = fcluster(linkage(squareform(distances, checks=False), "average"), cut, "distance")

    assert adjusted_rand_score(ours, theirs) == 1.0


def test_a_point_of_weight_three_counts_as_three_points() -> None:
    places = np.array([0.0, 1.0, 2.2])
    distances = np.abs(places[:, None] - places[None]).astype(np.float32)

    # 0 and 1 join; their mean distance to 2.2 is 1.7, and 1.45 where 1 counts three times.
    assert list(average_linkage(distances.copy(), [1, 1, 1], 1.6)) == [0, 0, 1]
    assert list(average_linkage(distances.copy(), [1, 3, 1], 1.6)) == [0, 0, 0]


@pytest.mark.parametrize("language", [*LANGUAGES, "both"])
def test_held_out_intents_are_found_again(language: str) -> None:
    pairs = labelled(language, "held_out")
    terms = [terms_of(question) for question, _ in pairs]
    model = TopicModel()
    model.assign(terms)

    found = model.discover(terms)

    alone = [-place for place in range(len(pairs))]
    topics = [other if m is None else m.topic for m, other in zip(found, alone, strict=True)]
    assert adjusted_rand_score([intent for _, intent in pairs], topics) >= 0.5


def test_a_topic_keeps_its_id_and_a_new_one_gets_another() -> None:
    intents = read("en")
    first = [terms_of(q) for q in chain(intents["refund"], intents["parcel"])]
    model = TopicModel()
    model.assign(first)
    model.discover(first)
    before = set(model.profiles)

    refunds = [m.topic for m in model.assign(first[:15]) if m is not None]
    coupons = [terms_of(q) for q in intents["coupon"]]
    model.assign(coupons)
    found = {m.topic for m in model.discover(coupons) if m is not None}

    assert len(refunds) >= 12
    assert max(refunds.count(topic) for topic in before) >= 12
    assert found
    assert found.isdisjoint(before)
    assert before < set(model.profiles)


def test_an_id_is_never_given_again() -> None:
    questions = [terms_of(f"refund of my order number {word}") for word in "abcdef"]
    model = TopicModel()
    model.assign(questions)
    model.discover(questions)
    (gone,) = model.profiles

    model.forget([gone])
    model.discover(questions)

    assert gone not in model.profiles
    assert len(model.profiles) == 1


def test_what_was_saved_goes_on_as_if_it_had_never_ended() -> None:
    questions = [terms_of(question) for question, _ in labelled("both", "held_out")]
    model = TopicModel()
    model.assign(questions)
    model.discover(questions)
    saved = [deepcopy(profile) for profile in model.profiles.values()]
    again = TopicModel(saved, model.frequencies, model.questions, model.last_id)

    assert again.assign(questions[:50]) == model.assign(questions[:50])


def test_memory_stays_bounded_whatever_is_asked() -> None:
    draw = random.Random(1)
    words = [f"w{number:05}x"[::-1] for number in range(60_000)]
    model = TopicModel()
    for _ in range(20):
        batch = [terms_of(" ".join(draw.choices(words, k=12))) for _ in range(400)]
        model.assign(batch)
        model.discover(batch)

    assert len(model.profiles) <= MAX_TOPICS
    assert len(model.frequencies) <= MAX_FREQUENCIES
    assert all(len(p.counts) <= 2 * MAX_TERMS for p in model.profiles.values())


@pytest.mark.parametrize("odd", ["", "?", "？！", "12345", "\ud800", "a" * 100_000, "\0"])
def test_odd_questions_belong_to_no_topic(odd: str) -> None:
    model = TopicModel()
    assert model.assign([terms_of(odd)]) == [None]
    assert model.discover([terms_of(odd)]) == [None]


def test_a_word_of_few_questions_never_stands_in_a_name() -> None:
    questions = ["退款什么时候到账", "退款多久", "我叫张伟，退款呢"] + ["refund for Smith"] * 2
    words = words_of(questions)

    assert HOLDERS == 3
    assert "退款" in words
    assert not words.keys() & {"张伟", "smith", "refund"}


def test_a_name_says_what_sets_a_topic_apart() -> None:
    words = {
        number: words_of(read("zh")[intent])
        for number, intent in enumerate(["会议室", "打印机", "门禁"], start=1)
    }
    names = name_topics(words)

    assert "会议室" in names[1]
    assert "打印机" in names[2]
    assert "门禁" in names[3]
