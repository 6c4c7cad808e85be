from rag_monitor.judges.embedded.evidence_index import EvidenceIndex
from rag_monitor.judges.embedded.packing import Limits, reading
from rag_monitor.judges.embedded.segments import Segment

FILLING = "Nothing else is known of it. " * 20
CONTEXTS = (
    "The blue ferry leaves Tornvik at noon. Coffee is sold on board.",
    "Bicycles travel free of charge. Dogs need a ticket in July.",
)
CLAIM = "The ferry leaves Tornvik at noon, and bicycles travel free of charge."


def read(claim: str = CLAIM, limits: Limits | None = None) -> str:
    evidence = EvidenceIndex.build((*CONTEXTS, FILLING), "")
    return reading(Segment(claim), evidence, limits or Limits())[1]


def test_the_sentences_that_hold_the_claim_are_read_in_their_order() -> None:
    assert read() == "The blue ferry leaves Tornvik at noon. Bicycles travel free of charge."


def test_no_more_sentences_are_read_than_allowed() -> None:
    assert read(limits=Limits(sentences=1)) == "The blue ferry leaves Tornvik at noon."


def test_a_second_sentence_must_fit_and_the_first_is_read_whatever_its_length() -> None:
    assert read(limits=Limits(units=45)) == "The blue ferry leaves Tornvik at noon."
    assert read(limits=Limits(units=3)) == "The blue ferry leaves Tornvik at noon."


def test_a_sentence_that_adds_little_is_not_read() -> None:
    assert read(limits=Limits(gain=99.0)) == "The blue ferry leaves Tornvik at noon."
    assert read("The ferry leaves Tornvik at noon.") == "The blue ferry leaves Tornvik at noon."


def test_short_passages_are_read_as_a_whole() -> None:
    evidence = EvidenceIndex.build(CONTEXTS, "")

    assert reading(Segment(CLAIM), evidence)[1] == " ".join(CONTEXTS)
    assert reading(Segment("Nobody swims."), evidence)[1] == " ".join(CONTEXTS)
    assert reading(Segment("Nobody swims."), evidence, Limits(units=20))[1] == ""


def test_what_shares_no_word_with_the_passages_of_a_question_is_not_read() -> None:
    evidence = EvidenceIndex.build(CONTEXTS, "When does the ferry leave?")

    assert (
        reading(Segment("Swimming makes people strong and healthy every summer."), evidence)[1]
        == ""
    )
