# ruff: noqa: E501 - a case reads best on one line
import pytest

from rag_monitor.domain.judgement import Aspect
from tests.unit.judges.embedded.cases import faithfulness, holds, judged

SIMPLIFIED = (
    "2024年个人首套房商业贷款利率的最低标准是多少?",
    (
        "2024年央行发布的个人住房贷款基准利率为4.25%,首套房可下浮20%。",
        "个人二套房贷款利率不得低于基准利率的1.1倍。",
        "2023年首套房贷款利率最低为3.65%。",
    ),
    "2024年个人首套房商业贷款利率最低标准为3.4%(基准利率4.25%下浮20%)。",
    ("2024年", "首套房", "最低利率"),
)
TRADITIONAL = (
    "2024年個人首套房商業貸款利率的最低標準是多少?",
    (
        "2024年央行發布的個人住房貸款基準利率為4.25%,首套房可下浮20%。",
        "個人二套房貸款利率不得低於基準利率的1.1倍。",
        "2023年首套房貸款利率最低為3.65%。",
    ),
    "2024年個人首套房商業貸款利率最低標準為3.4%(基準利率4.25%下浮20%)。",
    ("2024年", "首套房", "最低利率"),
)


@pytest.mark.parametrize("case", [SIMPLIFIED, TRADITIONAL], ids=["simplified", "traditional"])
def test_the_worked_example_holds_in_both_scripts(
    case: tuple[str, tuple[str, ...], str, tuple[str, ...]],
) -> None:
    judgement = judged(*case)

    assert faithfulness(judgement) > 0.55
    assert judgement.of(Aspect.GRADE)[0].probability == pytest.approx(1, abs=0.05)
    assert holds(judgement, Aspect.RELEVANCE) == [1, 0, 0]
    assert holds(judgement, Aspect.USE) == [1, 0, 0]
    assert holds(judgement, Aspect.USEFULNESS) == [1, 0, 0]
    assert holds(judgement, Aspect.COVERAGE) == [1, 1, 1]
    assert not judgement.refusal
    supported = judgement.of(Aspect.ANSWER_SUPPORTED)[0]
    assert supported.probability >= judgement.threshold
    assert supported.evidence == 0


CASES = [
    # question, passages, answer, relevant, used, faithful
    ("2024年个人首套房贷款利率最低是多少?", ("2024年首套房贷款利率最低为3.4%。", "2022年首套房贷款利率最低为4.4%。"), "2024年首套房贷款利率最低为3.4%。", [1, 0], [1, 0], True),
    ("二套房贷款的首付比例是多少?", ("首套房首付比例为20%。", "二套房贷款首付比例为30%。"), "二套房贷款首付比例为30%。", [0, 1], [0, 1], True),
    ("二套房贷款的首付比例是多少?", ("首套房首付比例为20%。", "二套房贷款首付比例为30%。"), "二套房贷款首付比例为20%。", [0, 1], None, None),
    ("2023年公司营业收入是多少?", ("2023年公司营业收入为55亿元，同比增长10%。", "2021年公司营业收入为40亿元。"), "2023年公司营业收入为55亿元。", [1, 0], [1, 0], True),
    ("第三季度的退货率是多少?", ("第三季度退货率为2.1%。", "第二季度退货率为3.5%。"), "第三季度退货率为2.1%。", [1, 0], [1, 0], True),
    ("第三季度的退货率是多少?", ("第三季度退货率为2.1%。", "第二季度退货率为3.5%。"), "第三季度退货率为7.8%。", [1, 0], None, False),
    ("会员退款需要几个工作日?", ("会员申请退款后，款项将在5个工作日内退回原账户。", "图书馆周末上午九点开门。"), "会员退款会在5个工作日内退回原账户。", [1, 0], [1, 0], True),
    ("會員退款需要幾個工作日?", ("會員申請退款後，款項將在5個工作日內退回原帳戶。", "圖書館週末上午九點開門。"), "會員退款會在12個工作日內退回原帳戶。", [1, 0], None, False),
    ("长江大桥是哪一年建成的?", ("长江大桥于1957年建成通车，全长1670米。", "该市共有十二座公园。"), "长江大桥建成于1957年。", [1, 0], [1, 0], True),
    ("长江大桥是哪一年建成的?", ("长江大桥于1957年建成通车，全长1670米。", "该市共有十二座公园。"), "长江大桥建成于1969年。", [1, 0], None, False),
    ("What is the minimum down payment for a second home?", ("The minimum down payment for a second home is 30 percent.", "The minimum down payment for a first home is 20 percent."), "The minimum down payment for a second home is 30 percent.", [1, 0], [1, 0], True),
    ("What was the revenue of Northwind in 2022?", ("Northwind revenue in 2022 was $4.2 million.", "Northwind revenue in 2019 was $3.1 million."), "Northwind's revenue in 2022 was $4.2 million.", [1, 0], [1, 0], True),
    ("What was the revenue of Northwind in 2022?", ("Northwind revenue in 2022 was $4.2 million.", "Northwind revenue in 2019 was $3.1 million."), "Northwind's revenue in 2022 was $6.7 million.", [1, 0], None, False),
    ("How long is the warranty on the Aria dishwasher?", ("The Aria dishwasher comes with a 24 month warranty on parts and labour.", "The cafeteria serves lunch from noon to two."), "The warranty on the Aria dishwasher lasts 24 months.", [1, 0], [1, 0], None),
    ("How long is the warranty on the Aria dishwasher?", ("The Aria dishwasher comes with a 24 month warranty on parts and labour.", "The cafeteria serves lunch from noon to two."), "The warranty on the Aria dishwasher lasts two years.", [1, 0], None, None),
    ("Who founded the Meridian Observatory?", ("The Meridian Observatory was founded by Elena Vasquez in 1921.", "Entrance tickets cost nine euros."), "Elena Vasquez founded the Meridian Observatory.", [1, 0], [1, 0], True),
    ("Who founded the Meridian Observatory?", ("The Meridian Observatory was founded by Elena Vasquez in 1921.", "Entrance tickets cost nine euros."), "Harold Whitcombe founded the Meridian Observatory.", [1, 0], None, False),
    ("When does the autumn semester start?", ("The autumn semester starts on 4 September.", "The spring semester starts on 12 February."), "The autumn semester starts on 4 September.", [1, 0], [1, 0], True),
    ("When does the autumn semester start?", ("The autumn semester starts on 4 September.", "The spring semester starts on 12 February."), "The autumn semester starts on 19 September.", [1, 0], None, False),
    ("How much does the premium plan cost per month?", ("The premium plan costs $30 per month.", "The basic plan costs $12 per month."), "The premium plan costs $30 per month.", [1, 0], [1, 0], True),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[f"{n}" for n in range(len(CASES))])
def test_passages_of_another_year_or_series_are_not_relevant(
    case: tuple[str, tuple[str, ...], str, list[int], list[int] | None, bool | None],
) -> None:
    question, contexts, answer, relevant, used, faithful = case

    judgement = judged(question, contexts, answer)

    assert holds(judgement, Aspect.RELEVANCE) == relevant
    if used is not None:
        assert holds(judgement, Aspect.USE) == used
    if faithful is not None:
        assert (faithfulness(judgement) >= 0.5) is faithful
