"""Settings that make other numbers, and those that do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rag_monitor.metrics.text.suite import TextOptions
from rag_monitor.metrics.text.tokens import Tokenizer
from rag_monitor.offline.run_settings import DEFAULT, FileOptions, differing, settings_of
from rag_monitor.offline.selection import Selection

JUDGED = Selection(judge=("faithfulness",))
RANKED = Selection(ranking=("retrieval_recall",))
CUT = Selection(text=("token_f1",))
ENCODED = Selection(encoder=("semantic_similarity",))
READ = Selection(perplexity=True)
CORRECT = Selection(reference_judge=("answer_correctness",))


def _terms(*terms: str) -> TextOptions:
    return TextOptions(tokenizer=Tokenizer(terms=terms))


@pytest.mark.parametrize(
    ("chosen", "one", "other"),
    [
        (RANKED, {"k": None}, {"k": 5}),
        (RANKED, {"k": 5}, {"k": 10}),
        (CUT, {}, {"text": _terms("年化收益率")}),
        (CUT, {"text": _terms("年化收益率")}, {"text": _terms("靶向药")}),
        (ENCODED, {"encoder": "bge-m3"}, {"encoder": "bge-large"}),
        (READ, {"perplexity": "gpt2"}, {"perplexity": "gpt2-large"}),
        (CORRECT, {"similarity_share": 0.0}, {"similarity_share": 0.25, "encoder": "e"}),
        (CORRECT, {"encoder": "bge-m3"}, {"encoder": "bge-large"}),
    ],
)
def test_settings_that_make_other_numbers_are_told_apart(
    chosen: Selection, one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert settings_of(chosen, FileOptions(**one)) != settings_of(chosen, FileOptions(**other))


@pytest.mark.parametrize(
    ("chosen", "options"),
    [
        (JUDGED, {"k": 5, "encoder": "e", "perplexity": "p", "text": _terms("靶向药")}),
        (RANKED, {"encoder": "e", "similarity_share": 0.5}),
        (READ, {"k": 5}),
    ],
)
def test_settings_of_metrics_that_were_not_chosen_do_not_count(
    chosen: Selection, options: dict[str, Any]
) -> None:
    plain = {"perplexity": "p"} if chosen is READ else {}

    assert settings_of(chosen, FileOptions(**plain | options)) == settings_of(
        chosen, FileOptions(**plain)
    )
    assert settings_of(JUDGED, FileOptions(**options)) == DEFAULT


def test_a_model_in_a_folder_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    folders = [tmp_path / name / "check point" for name in "abc"]
    for folder, weights in zip(folders, (b"1" * 100, b"1" * 100, b"2" * 100), strict=True):
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
        (folder / "model.safetensors").write_bytes(weights)

    first, moved, trained_on = (
        settings_of(ENCODED, FileOptions(encoder=str(folder))) for folder in folders
    )

    assert first == moved
    assert first != trained_on
    assert first.startswith("encoder=check_point@")


def test_of_two_files_only_settings_that_both_name_can_differ() -> None:
    assert differing({"k=5 terms=none"}, {"terms=none"}) == ("", "")
    assert differing({"k=5 terms=none"}, {"k=10 terms=none"}) == ("k=5", "k=10")
    assert differing({DEFAULT}, {"k=10"}) == ("", "")
