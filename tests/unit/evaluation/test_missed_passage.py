"""The search for what retrieval missed, by words."""

from __future__ import annotations

import pytest

from rag_monitor.evaluation.missed_passage import PassageIndex, search_earlier

WARRANTY = "The standard warranty lasts 24 months from the day of purchase."
FEES = "Express delivery costs 9 euros per parcel within the country."
ASKED = "How long does the standard warranty last?"


@pytest.mark.parametrize("warranty_in", [0, 1])
def test_it_is_found_in_whichever_index_holds_it(warranty_in: int) -> None:
    indexes = [PassageIndex([FEES]), PassageIndex([FEES])]
    indexes[warranty_in] = PassageIndex([FEES, WARRANTY])

    search = search_earlier(ASKED, [FEES], indexes)

    assert search.lead > 1
    assert search.missed is not None
    assert search.missed.text == WARRANTY
    assert 0.5 <= search.missed.probability <= 1
    assert search.missed.gain > 1


@pytest.mark.parametrize(
    ("contexts", "passages"),
    [([WARRANTY], [WARRANTY, FEES]), ([], [FEES]), ([], [])],
    ids=["the contexts hold it", "no passage does", "no passage"],
)
def test_it_is_none_where_nothing_else_holds_it(contexts: list[str], passages: list[str]) -> None:
    assert search_earlier(ASKED, contexts, [PassageIndex(passages)]).missed is None


def test_contexts_that_fit_best_are_ahead_of_all_earlier_passages() -> None:
    others = [f"The standard case of model {number} is blue." for number in range(10)]
    ahead = search_earlier(ASKED, [WARRANTY], [PassageIndex([WARRANTY, *others])]).lead
    even = search_earlier(
        ASKED, [WARRANTY], [PassageIndex([WARRANTY.replace("24", "36"), *others])]
    ).lead

    assert ahead < -1 < even <= 0.1


@pytest.mark.parametrize("passages", [[FEES], ["The standard case is blue."]])
def test_a_handful_of_passages_of_which_none_fits_says_nothing(passages: list[str]) -> None:
    assert search_earlier(ASKED, [WARRANTY], [PassageIndex(passages)]).lead == 0


def test_passages_are_counted_in_their_order_once() -> None:
    index = PassageIndex(["red fish", "blue fish", "a stone", "red fish"])

    assert list(index.sharing(["fish", "red"])) == [(2, "red fish"), (1, "blue fish")]
    assert index.texts == ("red fish", "blue fish", "a stone")
