# ruff: noqa: E501 - a case reads best on one line
"""The same in other words, and sums in several steps, as service answers have them."""

import pytest

from tests.unit.judges.embedded.cases import judged, reasons

HOLD = [
    # question, passage, statement that was doubted or contradicted
    ("", "休学一般以一学年为限，累计不得超过两学年。", "休学一般以一学年为限，累计不能超过两学年。"),
    ("", "若未收到取件码，可在快递柜屏幕上输入手机号后四位查询。", "没收到取件码也别急，可以在快递柜屏幕上输入手机号后四位查询。"),
    ("", "购买后永久有效，与会员状态无关。", "购买后永久有效，跟会员状态没有关系。"),
    ("", "The parking fee is refunded when you return the key to the front desk.", "The parking fee is reimbursed when you hand the key back at the front desk."),
]  # fmt: skip

STEPS = [
    # question, passage, answer that reckons
    ("寄3公斤多少钱？", "首重1公斤8元，续重每公斤3元。", "首重1公斤8元，剩下2公斤每公斤3元，一共是14元。"),
    ("今年新开多少家？", "上半年新开门店128家，关闭门店41家，门店总数为2316家。", "上半年新开128家、关闭41家，净增87家，门店总数2316家。"),
    ("", "首年管理服务费300元，绝育犬凭证明减半收取。", "首年300元，绝育犬凭证明减半收取，只要150元。"),
    ("How much for three cars?", "The annual charge is $48 for a first vehicle and $75 for each additional vehicle.", "For three cars you pay $198 a year: $48 for the first and $75 for each of the other two."),
    ("How much are two seats?", "Each seat costs 40 dollars and the service fee is 12 dollars.", "Two seats cost 40 x 2 + 12 = 92 dollars."),
]  # fmt: skip
UNRELATED = [
    # passage, answer whose number only happens to follow from others of other units
    ("租车人须年满18周岁且驾龄满6个月，租用7座车型的，驾龄须满3年。", "租用7座车型的，驾龄须满1年。"),
    ("工本费20元，受理之日起60日内发证，临时身份证收费10元，有效期3个月。", "临时身份证收费10元，有效期6个月，60日内发证。"),
]  # fmt: skip


@pytest.mark.parametrize("case", HOLD, ids=[str(n) for n in range(len(HOLD))])
def test_the_same_in_other_words_contradicts_nothing(case: tuple[str, str, str]) -> None:
    question, passage, answer = case

    found = judged(question, (passage,), answer)

    assert not {"contradiction", "negation", "number_mismatch"}.intersection(reasons(found))


@pytest.mark.parametrize("case", STEPS, ids=[str(n) for n in range(len(STEPS))])
def test_a_sum_in_steps_is_derived(case: tuple[str, str, str]) -> None:
    question, passage, answer = case

    found = judged(question, (passage,), answer)

    assert "derived_number" in reasons(found)
    assert "number_mismatch" not in reasons(found)


@pytest.mark.parametrize("case", UNRELATED, ids=[str(n) for n in range(len(UNRELATED))])
def test_a_number_of_another_unit_explains_nothing(case: tuple[str, str]) -> None:
    passage, answer = case

    found = judged("", (passage,), answer)

    assert "number_mismatch" in reasons(found)
    assert "derived_number" not in reasons(found)
