"""How far words can go on OCNLI. Prints one JSON object.

Usage: `python -m benchmarks.embedded_judge.ceiling DATA_FOLDER` (needs scikit-learn and jieba)
A diagnosis, nothing of which is shipped: OCNLI may only be measured on. AUROC of the lexical judge
on its train and dev pairs, and of logistic regressions taught on train and asked about dev: with
measures of coverage beside the judge, with every word and word pair of the hypothesis, and both.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.embedded_judge.corpora import load
from benchmarks.embedded_judge.evaluate import Vector, auroc, judge
from rag_monitor.domain.judgement import Aspect
from rag_monitor.judges.embedded import EmbeddedJudge, create_lexical

RARE = 3
"""Words of fewer hypotheses are left out."""
FOLDS = 5


def doubt(rows: list[dict[str, Any]], engine: EmbeddedJudge) -> Vector:
    """The shipped judge's doubt of every row."""
    verdicts = [judge(row, engine).of(Aspect.ANSWER_SUPPORTED) for row in rows]
    return np.array([-(found[0].raw or 0.0) if found else 0.0 for found in verdicts])


def coverage(row: dict[str, Any]) -> list[float]:
    """Shares of the hypothesis that the premise lacks, and both lengths."""
    import jieba

    premise, hypothesis = "".join(row["contexts"]), row["answer"]
    words = [word for word in jieba.lcut(hypothesis) if word.strip()]
    unseen = [word for word in words if word not in premise]
    return [
        len(unseen) / max(1, len(words)),
        sum(len(word) > 1 for word in unseen) / max(1, len(words)),
        sum(char not in premise for char in hypothesis) / max(1, len(hypothesis)),
        float(np.log1p(len(words))),
        float(np.log1p(len(premise))),
    ]


def main(folder: Path) -> dict[str, Any]:
    """Every figure."""
    import jieba
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    engine = create_lexical({})
    train, dev = load(folder, "ocnli_zh_train"), load(folder, "ocnli_zh_dev")
    labels = np.array([1.0 - row["label_faithful"] for row in train])
    asked = np.array([1.0 - row["label_faithful"] for row in dev])
    taught, known = doubt(train, engine), doubt(dev, engine)

    def learnt(columns: Any, wanted: Any) -> float:
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
        return auroc(asked, model.fit(columns, labels).decision_function(wanted))

    counter = CountVectorizer(
        tokenizer=jieba.lcut, token_pattern=None, ngram_range=(1, 2), min_df=RARE, binary=True
    )
    said = counter.fit_transform([row["answer"] for row in train])
    words = LogisticRegression(C=0.05, max_iter=500)
    seen = cross_val_predict(words, said, labels, cv=FOLDS, method="decision_function")
    unseen = words.fit(said, labels).decision_function(
        counter.transform([row["answer"] for row in dev])
    )
    figures = {
        "judge_on_train": auroc(labels, taught),
        "judge_on_dev": auroc(asked, known),
        "taught_coverage": learnt(
            np.column_stack([taught, [coverage(row) for row in train]]),
            np.column_stack([known, [coverage(row) for row in dev]]),
        ),
        "taught_words_alone": auroc(asked, unseen),
        "taught_words": learnt(np.column_stack([taught, seen]), np.column_stack([known, unseen])),
    }
    return {"pairs": [len(train), len(dev)], **{k: round(v, 3) for k, v in figures.items()}}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1])), indent=1))
