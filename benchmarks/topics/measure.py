"""How well intents are found again: what stands for a question, by how it is clustered.

    python -m benchmarks.topics.measure compare
    python -m benchmarks.topics.measure speed

Prints JSON. `compare` clusters the held-out intents of each language: the adjusted Rand index, with
questions of no cluster as clusters of their own, and milliseconds per question. What others need to
be told (number of clusters, a threshold) is the best of several values for them, chosen on the very
same questions; ours was chosen on the other half. `speed` gives 10^5 questions their topics.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import time
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN, MiniBatchKMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from benchmarks.topics.intents import LANGUAGES, labelled, read
from rag_monitor.topics.model import TopicModel
from rag_monitor.topics.terms import terms_of

QUESTIONS: Final = 100_000
_BATCH: Final = 500
_DIMENSIONS: Final = 50
_POOLED: Final = "/Div_output_0"
_FOURTH: Final = "/encoder/encoder/layer.3/output/LayerNorm/LayerNormalization_output_0"
"""Outputs within the shipped encoder: the mean over tokens of its last layer, and its fourth."""

Vectors = NDArray[np.float64]


def compare() -> None:
    """Print one object per language and way."""
    encode = _encoder()
    vectorisers: dict[str, Callable[[Sequence[str]], Vectors]] = {
        "encoder, last layer": lambda texts: encode(texts, _POOLED),
        "encoder, fourth layer": lambda texts: encode(texts, _FOURTH),
        "terms, TF-IDF": lambda texts: _tf_idf(texts, terms_of),
        "terms, TF-IDF, SVD": lambda texts: _reduced(_tf_idf(texts, terms_of)),
        "characters, TF-IDF": lambda texts: _tf_idf(texts, _character_ngrams),
        "characters, TF-IDF, SVD": lambda texts: _reduced(_tf_idf(texts, _character_ngrams)),
    }
    for language in (*LANGUAGES, "both"):
        texts, intents = zip(*labelled(language, "held_out"), strict=True)
        for name, vectorise in vectorisers.items():
            began = time.perf_counter()
            vectors = vectorise(texts)
            each_ms = (time.perf_counter() - began) / len(texts) * 1000
            found = {way: cluster(vectors, intents) for way, cluster in _CLUSTERINGS.items()}
            _say(language=language, vectors=name, ms=round(each_ms, 2), ari=found)
        began = time.perf_counter()
        index, topics = ours(texts, intents)
        each_ms = (time.perf_counter() - began) / len(texts) * 1000
        _say(language=language, vectors="ours", ms=round(each_ms, 2), ari=index, topics=topics)


def ours(texts: Sequence[str], intents: Sequence[str]) -> tuple[float, int]:
    """The adjusted Rand index of what is shipped, and how many topics it finds."""
    model = TopicModel()
    terms = [terms_of(text) for text in texts]
    model.assign(terms)
    found = [-1 if match is None else match.topic for match in model.discover(terms)]
    return _index(intents, found), len(model.profiles)


def speed() -> None:
    """Print how long 10^5 questions take, in batches as the worker takes them."""
    draw = random.Random(1)
    wordings = [q for language in LANGUAGES for qs in read(language).values() for q in qs]
    questions = [f"{draw.choice(wordings)} {draw.randrange(10**6):x}" for _ in range(QUESTIONS)]
    model = TopicModel()
    waiting: list[frozenset[int]] = []
    began = time.perf_counter()
    for start in range(0, QUESTIONS, _BATCH):
        terms = [terms_of(question) for question in questions[start : start + _BATCH]]
        waiting += [t for t, match in zip(terms, model.assign(terms), strict=True) if match is None]
        if len(waiting) > _BATCH:
            found = model.discover(waiting)
            waiting = [t for t, match in zip(waiting, found, strict=True) if match is None][-2000:]
    _say(
        questions=QUESTIONS,
        seconds=round(time.perf_counter() - began, 1),
        topics=len(model.profiles),
        peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    )


def _encoder() -> Callable[[Sequence[str], str], Vectors]:
    """The shipped encoder, asked for what lies within it."""
    import onnx
    import onnxruntime
    from tokenizers import Tokenizer

    folder = resources.files("rag_monitor.judges.embedded") / "shipped"
    graph = onnx.load_from_string((folder / "model.onnx").read_bytes())
    for name in (_POOLED, _FOURTH):
        wanted = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
        graph.graph.output.append(wanted)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(graph.SerializeToString(), options)
    tokenizer = Tokenizer.from_buffer((folder / "tokenizer.json").read_bytes())

    def encode(texts: Sequence[str], output: str) -> Vectors:
        rows = []
        for text in texts:
            read_text = tokenizer.encode(text)
            fed = {
                "input_ids": [read_text.ids],
                "attention_mask": [read_text.attention_mask],
                "token_type_ids": [read_text.type_ids],
            }
            [found] = session.run([output], {k: np.array(v, np.int64) for k, v in fed.items()})
            rows.append(found[0] if found.ndim == 2 else found[0][1:-1].mean(0))
        vectors = np.array(rows, np.float64)
        return np.asarray(normalize(vectors - vectors.mean(0)))

    return encode


def _tf_idf(texts: Sequence[str], terms: Callable[[str], Any]) -> Vectors:
    counted = TfidfVectorizer(analyzer=terms, sublinear_tf=True).fit_transform(texts)
    return np.asarray(normalize(counted).todense())


def _reduced(vectors: Vectors) -> Vectors:
    return np.asarray(normalize(TruncatedSVD(_DIMENSIONS, random_state=0).fit_transform(vectors)))


def _character_ngrams(text: str) -> list[str]:
    padded = f" {text.lower()} "
    return [padded[i : i + n] for n in (2, 3, 4) for i in range(len(padded) - n + 1)]


def _k_means(vectors: Vectors, intents: Sequence[str]) -> float:
    known = len(set(intents))
    return max(
        _index(intents, MiniBatchKMeans(k, random_state=0, n_init=5).fit_predict(vectors))
        for k in (known, 2 * known)
    )


def _hdbscan(vectors: Vectors, intents: Sequence[str]) -> float:
    return max(
        _index(
            intents, HDBSCAN(min_cluster_size=size, min_samples=2, copy=True).fit_predict(vectors)
        )
        for size in (3, 5, 8)
    )


_CLUSTERINGS: Final = {"MiniBatchKMeans": _k_means, "HDBSCAN": _hdbscan}


def _index(intents: Sequence[str], found: Sequence[int]) -> float:
    alone = [len(found) + place if one < 0 else one for place, one in enumerate(found)]
    return round(float(adjusted_rand_score(intents, alone)), 3)


def _say(**values: object) -> None:
    print(json.dumps(values), flush=True)


def main() -> None:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("compare", "speed"))
    {"compare": compare, "speed": speed}[parser.parse_args().what]()


if __name__ == "__main__":
    main()
