from rag_monitor.language.memo_dict import MemoDict


def test_what_recurs_is_worked_out_once_and_memory_stays_bounded() -> None:
    asked: list[str] = []

    def work_out(text: str) -> int:
        asked.append(text)
        return len(text)

    known = MemoDict(work_out, largest=2, longest=4)
    assert [known["a"], known["a"], known["bb"], known["ccc"], known["a"]] == [1, 1, 2, 3, 1]
    assert asked == ["a", "bb", "ccc", "a"]
    assert len(known) == 2

    assert known["longer"] == known["longer"] == 6
    assert "longer" not in known
