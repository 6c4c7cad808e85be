import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_monitor.language.dates import find_dates
from rag_monitor.language.normalise import fold
from rag_monitor.language.numbers import find_quantities


def values(text: str) -> list[float]:
    return [quantity.value for quantity in find_quantities(fold(text))]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("27,700", 27_700),
        ("4个半小时", 4.5),
        ("两年半", 2.5),
        ("半年", 0.5),
        ("12 and a half hours", 12.5),
        ("two and a half days", 2.5),
        ("two and a\thalf hours of the first half", 2.5),
        ("2 1/2 cups", 2.5),
        ("renewed twice", 2),
        ("half an hour", 0.5),
        ("three quarters of a minute", 0.75),
        ("a kilo and a half", 1.5),
        ("an hour and a quarter", 1.25),
        ("seven percentage points", 7),
        ("27.7k", 27_700),
        ("27.7 thousand", 27_700),
        ("2.77万", 27_700),
        ("550万", 5_500_000),
        ("$2.5 million", 2_500_000),
        ("三分之一", 1 / 3),
        ("two thirds", 2 / 3),
        ("百分之二十二", 22),
        ("22 percent", 22),
        ("一万两千三百人", 12_300),
        ("twenty-five", 25),
        ("three hundred and five", 305),
        ("三成", 30),
        ("1.2亿元", 120_000_000),
        ("两元七角三分", 2.73),
        ("12块5毛", 12.5),
        ("1,234元5角", 1234.5),
        ("三亿二千元五角", 300_002_000.5),
        ("两块三角形", 2),
        ("千分之五", 0.005),
        ("万分之三", 0.0003),
        ("為3.4%", 3.4),
        ("２０％", 20),
    ],
)
def test_a_quantity_has_one_value_in_every_notation(text: str, value: float) -> None:
    assert values(text) == [pytest.approx(value)]


@pytest.mark.parametrize(
    "text",
    [
        "十分重要",
        "一些人",
        "第三章",
        "the 3rd time",
        "万一",
        "one of them",
        "a third party",
        "a fifth reminder",
        "one in it",
    ],
)
def test_ordinals_and_idioms_are_not_quantities(text: str) -> None:
    assert values(text) == []


def agree(left: str, right: str) -> bool:
    return find_quantities(fold(left))[0].equals(find_quantities(fold(right))[0])


def test_units_that_differ_contradict_and_a_missing_unit_does_not() -> None:
    assert not agree("5 km", "5 miles")
    assert not agree("$5", "5 euros")
    assert not agree("22%", "22")
    assert agree("5 公里", "5 km")
    assert agree("300", "300 dollars")


def test_rounding_is_allowed_only_to_fewer_digits_than_known() -> None:
    assert agree("about 2.8 million", "2,791,000")
    assert not agree("27,800", "27,700")
    assert not agree("1,251,000", "1,250,000")


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("On 5 March 2021", (2021, 3, 5)),
        ("March 5, 2021", (2021, 3, 5)),
        ("2021-03-05", (2021, 3, 5)),
        ("2021年3月5日", (2021, 3, 5)),
        ("二〇二一年三月五日", (2021, 3, 5)),
        ("二零二三年十二月三十一日", (2023, 12, 31)),
        ("in 1998", (1998, None, None)),
        ("3月5日", (None, 3, 5)),
        ("May 2020", (2020, 5, None)),
    ],
)
def test_a_date_is_read_in_every_notation(text: str, date: tuple[int | None, ...]) -> None:
    found = find_dates(fold(text))

    assert [(d.year, d.month, d.day) for d in found] == [date]


def test_dates_compare_at_the_coarser_precision() -> None:
    full = find_dates("5 march 2021")
    year = find_dates("in 2021")
    other = find_dates("in 2022")

    assert year[0].supported_by(full)
    assert not full[0].supported_by(year)
    assert not other[0].supported_by(full)
    assert full[0].agrees(year[0])


@given(st.text(max_size=200))
def test_odd_text_never_breaks_the_readers(text: str) -> None:
    folded = fold(text)
    dates = find_dates(folded)

    assert all(d.start < d.end for d in dates)
    assert all(q.value == q.value for q in find_quantities(folded))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("$16-16.5bn", [16e9, 16.5e9]),
        ("$16.0 to $16.5 billion", [16e9, 16.5e9]),
        ("3至5万元", [3e4, 5e4]),
        ("10-15%", [10, 15]),
        ("$500 to $1 million", [500, 1e6]),
    ],
)
def test_the_numbers_of_a_range_share_scale_and_unit(text: str, values: list[float]) -> None:
    low, high = find_quantities(fold(text))

    assert [low.value, high.value] == values
    assert (low.kind, low.unit) == (high.kind, high.unit)


def test_a_number_that_names_something_is_never_a_rounded_one() -> None:
    [named], [known] = find_quantities("port 6380"), find_quantities("port 6379")
    [count], [exact] = find_quantities("6380 users"), find_quantities("6379 users")

    assert not named.equals(known)
    assert count.equals(exact)


@pytest.mark.parametrize("text", ["1300 g", "1500 ml", "1200 mb", "2000毫升", "1500 hours"])
def test_an_amount_with_a_unit_is_no_year(text: str) -> None:
    assert not find_dates(text)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("年满18周岁", "age"),
        ("超时30毫秒", "ms"),
        ("功率250瓦", "watt"),
        ("住3晚", "night"),
        ("不超过两学年", "year"),
        ("a timeout of 30 ms", "ms"),
        ("a ten-day hire", "day"),
        ("a nine-year-old dryer", "year"),
        ("a 24 in screen", "inch"),
        ("12in x", "inch"),
        ("Number 20 in Mill Lane", ""),
        ("a third of it", ""),
    ],
)
def test_units_of_everyday_rules(text: str, unit: str) -> None:
    assert [quantity.unit for quantity in find_quantities(fold(text))] == [unit]


def test_another_unit_of_the_sort_is_another_number() -> None:
    [seconds, ms] = find_quantities(fold("30秒，30毫秒"))
    [times, hours] = find_quantities(fold("2次，2小时"))
    [pieces, people] = find_quantities(fold("20件，20人"))

    assert not seconds.equals(ms)
    assert not times.equals(hours)
    assert pieces.equals(people)


def test_a_grade_is_no_number_of_years() -> None:
    assert [quantity.unit for quantity in find_quantities(fold("小学3年级，3年"))] == ["", "year"]


def test_a_numeral_that_may_be_part_of_a_word_is_read_where_asked() -> None:
    assert find_quantities(fold("最多兼报两项")) == []
    assert [q.value for q in find_quantities(fold("最多兼报两项"), idioms=True)] == [2.0]


@pytest.mark.parametrize("text", ["下半年", "大半天", "上半个月"])
def test_a_half_of_the_calendar_is_no_duration(text: str) -> None:
    assert values(text) == []


@pytest.mark.parametrize("text", ["3月8日至15日", "3月8日-15日", "March 8-15"])
def test_the_end_of_a_range_of_days_has_the_month_of_its_beginning(text: str) -> None:
    found = [(date.month, date.day) for date in find_dates(fold(text))]

    assert found == [(3, 8), (3, 15)]


def test_a_number_after_a_day_is_no_day_by_itself() -> None:
    found = [(date.month, date.day) for date in find_dates(fold("May 3 - 2 people; March 8-15%"))]

    assert found == [(5, 3), (3, 8)]


@pytest.mark.parametrize(
    ("text", "rest"), [("the 2018-19 season", []), ("1999/00", []), ("2018-25", [25.0])]
)
def test_the_second_year_of_a_season_is_no_number(text: str, rest: list[float]) -> None:
    dates = find_dates(text)

    found = find_quantities(text, tuple((date.start, date.end) for date in dates))
    assert [quantity.value for quantity in found] == rest


@pytest.mark.parametrize("text", ["twice the price", "twice as fast", "notice", "one thing"])
def test_a_multiple_is_no_count(text: str) -> None:
    assert values(text) == []


@pytest.mark.parametrize(
    ("stated", "known"),
    [
        ("24 months", "two years"),
        ("36小时", "1.5天"),
        ("5,000 metres", "5 km"),
        ("4斤", "2公斤"),
        ("3.4%", "0.034"),
        ("50%", "half of the users"),
        ("1/3", "三分之一"),
        ("1.5万", "15,000"),
        ("1,234.50 EUR", "1.234,50 EUR"),
        ("1,250,000 people", "1 250 000 people"),
        ("minus 12 °C", "-12 °C"),
        ("零下5℃", "-5℃"),
        ("68 °f", "20 °c"),
        ("123000元", "壹拾贰万叁仟元"),
        ("1.6 × 10^-19", "1.6e-19"),
        ("chapter 4", "Chapter IV"),
        ("4008108888", "400-810-8888"),
        ("about 5 stars", "4.96 stars"),
    ],
)
def test_other_forms_of_a_number_are_the_same(stated: str, known: str) -> None:
    assert agree(stated, known)


@pytest.mark.parametrize(
    ("stated", "known"),
    [
        ("12 months", "two years"),
        ("24 days", "two years"),
        ("500 metres", "5 km"),
        ("34%", "0.034"),
        ("2/3", "三分之一"),
        ("12 °C", "-12 °C"),
        ("4008108889", "400-810-8888"),
        ("5 stars", "4.96 stars"),
        ("0.12 mm", "0.145 mm"),
        ("5 dollars", "5 euros"),
    ],
)
def test_other_numbers_are_not(stated: str, known: str) -> None:
    assert not agree(stated, known)


@pytest.mark.parametrize("text", ["3/14/2024", "14/3/2024"])
def test_a_date_with_slashes_begins_with_the_month_unless_it_cannot(text: str) -> None:
    assert [date[:3] for date in find_dates(text)] == [(2024, 3, 14)]
