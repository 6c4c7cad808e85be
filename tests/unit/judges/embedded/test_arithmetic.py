# ruff: noqa: E501 - a case reads best on one line
import pytest

from tests.unit.judges.embedded.cases import faithfulness, judged, reasons

TWINS = [
    # passage, right answer, wrong answer
    ("基准利率为4.25%，首套房可下浮20%。", "首套房利率为3.4%（基准利率4.25%下浮20%）。", "首套房利率为3.9%（基准利率4.25%下浮20%）。"),
    ("基准利率为5%，二套房上浮10%。", "二套房利率为5.5%，即基准利率5%上浮10%。", "二套房利率为4.5%，即基准利率5%上浮10%。"),
    ("门票每张120元，团体优惠15%。", "团体门票每张102元，即120元优惠15%。", "团体门票每张98元，即120元优惠15%。"),
    ("甲店有35名员工，乙店有48名员工。", "甲店35名员工，乙店48名员工，合计83名员工。", "甲店35名员工，乙店48名员工，合计93名员工。"),
    ("去年产量为400吨，今年产量为500吨。", "产量由400吨增加到500吨，增长25%。", "产量由400吨增加到500吨，增长35%。"),
    ("每箱24瓶，仓库有15箱。", "每箱24瓶，15箱共360瓶。", "每箱24瓶，15箱共380瓶。"),
    ("保修期为2年。", "保修期2年，即24个月。", "保修期2年，即36个月。"),
    ("总预算800万元，已支出350万元。", "预算800万元，支出350万元，剩余450万元。", "预算800万元，支出350万元，剩余550万元。"),
    ("全校共1200名学生，女生有540名。", "女生540名，占1200名学生的45%。", "女生540名，占1200名学生的55%。"),
    ("房屋月租金为3200元。", "月租金3200元，每年12个月共38400元。", "月租金3200元，每年12个月共36400元。"),
    ("火车票价260元，手续费5%。", "手续费按260元的5%每张收取13元。", "手续费按260元的5%每张收取15元。"),
    ("該店原價800元，現打折減少25%。", "現價為600元，即800元減少25%。", "現價為640元，即800元減少25%。"),
    ("第一期投资1.2亿元，第二期投资0.8亿元。", "第一期1.2亿元与第二期0.8亿元，总额2亿元。", "第一期1.2亿元与第二期0.8亿元，总额2.4亿元。"),
    ("跑道长400米，他跑了6圈。", "跑道400米，每圈400米，6圈共2400米。", "跑道400米，每圈400米，6圈共2800米。"),
    ("去年利润90万元，今年利润72万元。", "利润由90万元下降到72万元，降幅20%。", "利润由90万元下降到72万元，降幅30%。"),
    ("水库容量500万立方米，现存水量350万立方米。", "现存350万立方米，占容量500万立方米的70%。", "现存350万立方米，占容量500万立方米的80%。"),
    ("车速为每小时80公里，行驶3小时。", "每小时80公里，行驶3小时共240公里。", "每小时80公里，行驶3小时共260公里。"),
    ("最高气温31度，最低气温19度。", "最高31度，最低19度，相差12度。", "最高31度，最低19度，相差15度。"),
    ("三个部门分别有20人、30人和40人。", "三个部门20人、30人和40人，合计90人。", "三个部门20人、30人和40人，合计95人。"),
    ("贷款本金50万元，年利率4%。", "按本金50万元、年利率4%计算，每年利息2万元。", "按本金50万元、年利率4%计算，每年利息3万元。"),
    ("The base rate is 4.25 percent. A first home is priced 20 percent below it.", "The first home rate is 3.4 percent, which is 4.25 percent less 20 percent.", "The first home rate is 3.7 percent, which is 4.25 percent less 20 percent."),
    ("The ticket costs $80 and the booking fee is 5%.", "The booking fee is $4, that is 5% of each $80 ticket.", "The booking fee is $6, that is 5% of each $80 ticket."),
    ("Adults pay $12 and children pay $7.", "An adult at $12 and a child at $7 pay $19 together.", "An adult at $12 and a child at $7 pay $21 together."),
    ("The north site has 240 beds and the south site has 310 beds.", "With 240 beds in the north and 310 in the south there are 550 beds in total.", "With 240 beds in the north and 310 in the south there are 580 beds in total."),
    ("Sales were 200 units in May and 260 units in June.", "Sales increased from 200 units to 260 units, a rise of 30%.", "Sales increased from 200 units to 260 units, a rise of 40%."),
    ("The bridge opened in 1932 and is 640 meters long with 8 equal spans.", "The bridge is 640 meters long, so each of the 8 spans is 80 meters.", "The bridge is 640 meters long, so each of the 8 spans is 90 meters."),
    ("The warranty lasts 3 years.", "The warranty lasts 3 years, or 36 months.", "The warranty lasts 3 years, or 30 months."),
    ("The jacket costs $150 and is 30% off.", "At 30% off, the $150 jacket costs $105.", "At 30% off, the $150 jacket costs $115."),
    ("There are 50 members and 20 of them voted.", "20 of the 50 members voted, a share of 40%.", "20 of the 50 members voted, a share of 60%."),
    ("The budget is $900 and $640 was spent.", "Of the $900 budget $640 was spent, so $260 is left.", "Of the $900 budget $640 was spent, so $310 is left."),
    ("Each crate holds 36 bottles and the truck carries 25 crates.", "25 crates with 36 bottles each make 900 bottles.", "25 crates with 36 bottles each make 850 bottles."),
    ("The hike is 5 km long.", "The hike is 5 km, that is 5000 meters.", "The hike is 5 km, that is 500 meters."),
    ("Rent is $1,250 per month.", "Rent of $1,250 per month is $15,000 for 12 months a year.", "Rent of $1,250 per month is $16,000 for 12 months a year."),
    ("The tower is 180 feet tall and the annex is 65 feet tall.", "At 180 feet the tower is 115 feet taller than the 65 feet annex, a difference in height.", "At 180 feet the tower is 125 feet taller than the 65 feet annex, a difference in height."),
    ("The population fell from 8,000 to 6,000.", "The population fell from 8,000 to 6,000, a drop of 25%.", "The population fell from 8,000 to 6,000, a drop of 35%."),
    ("The fee is $40 plus 10% tax.", "The fee of $40 plus 10% tax comes to $44.", "The fee of $40 plus 10% tax comes to $48."),
    ("The plant uses 90 liters per hour and runs 6 hours.", "At 90 liters per hour for 6 hours the plant uses 540 liters.", "At 90 liters per hour for 6 hours the plant uses 560 liters."),
    ("The film lasts 2 hours.", "The film lasts 2 hours, which is 120 minutes.", "The film lasts 2 hours, which is 140 minutes."),
    ("The team won 18 of 24 games.", "The team won 18 of 24 games, a rate of 75%.", "The team won 18 of 24 games, a rate of 85%."),
    ("Group A has 14 people, group B 16 and group C 21.", "Groups of 14, 16 and 21 people make a total of 51 people.", "Groups of 14, 16 and 21 people make a total of 57 people."),
]  # fmt: skip


@pytest.mark.parametrize("twin", TWINS, ids=[str(n) for n in range(len(TWINS))])
def test_a_right_derivation_is_supported_and_its_wrong_twin_is_not(
    twin: tuple[str, str, str],
) -> None:
    passage, right, wrong = twin

    assert "number_mismatch" not in reasons(judged("", (passage,), right))
    assert faithfulness(judged("", (passage,), right)) > faithfulness(judged("", (passage,), wrong))


def test_an_operation_without_named_operands_supports_nothing() -> None:
    passage = "The base rate is 4.25 percent. A first home is priced 20 percent below it."

    assert faithfulness(judged("", (passage,), "The first home rate is 3.4 percent.")) <= 0.5


OTHERWISE = [
    # passage, right answer, wrong answer
    ("The night train leaves Hamburg at 20:15 and reaches Vienna at 8:45 the next morning.", "The night train takes 12 and a half hours, leaving Hamburg at 20:15 and reaching Vienna at 8:45 the next morning.", "The night train takes 14 and a half hours, leaving Hamburg at 20:15 and reaching Vienna at 8:45 the next morning."),
    ("Books may be renewed twice.", "Books may be renewed two times.", "Books may be renewed four times."),
    ("Marks are published within four weeks. Appeals must be filed within 14 days of inspection.", "Appeals must be filed within two weeks of inspection.", "Appeals must be filed within 28 days of inspection."),
    ("店铺早上9:00开门，晚上21:30关门。", "店铺从9:00营业到21:30，共12.5小时。", "店铺从9:00营业到21:30，共14.5小时。"),
]  # fmt: skip


@pytest.mark.parametrize("twin", OTHERWISE, ids=[str(n) for n in range(len(OTHERWISE))])
def test_times_of_day_and_conversions_are_reckoned_where_they_belong(
    twin: tuple[str, str, str],
) -> None:
    passage, right, wrong = twin

    assert "number_mismatch" not in reasons(judged("", (passage,), right))
    assert "number_mismatch" in reasons(judged("", (passage,), wrong))
