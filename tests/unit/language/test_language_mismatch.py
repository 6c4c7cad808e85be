import pytest

from rag_monitor.language.language_mismatch import languages_differ
from rag_monitor.language.normalise import fold

ENGLISH = "Items may be returned within 30 days of delivery. The XPS 13 ships with Windows 11."
CHINESE = "商品可在收货后30天内退货。XPS 13 预装 Windows 11 系统。"


def differ(statements: list[str], others: list[str]) -> bool:
    return languages_differ(map(fold, statements), list(map(fold, others)))


@pytest.mark.parametrize(
    ("statements", "others"),
    [
        (["商品可在30天内退货。"], [ENGLISH]),
        (["商品可在30天內退貨。", "XPS 13"], [ENGLISH, ""]),
        (["请使用 kubectl apply 命令部署服务。"], ["Run kubectl apply to deploy the service."]),
        (["You can return it within 30 days."], [CHINESE]),
        (["It comes with a charger and the cable.", "42"], [CHINESE]),
    ],
)
def test_one_language_is_foreign_to_the_other(statements: list[str], others: list[str]) -> None:
    assert differ(statements, others)


@pytest.mark.parametrize(
    ("statements", "others"),
    [
        (["You can return it within 30 days."], [ENGLISH]),
        (["商品可在30天内退货。"], [CHINESE]),
        (["商品可在30天内退货。"], [ENGLISH, CHINESE]),
        (["You can return it within 30 days."], [CHINESE, ENGLISH]),
        (["You can return it within 30 days.", "商品可在30天内退货。"], [CHINESE]),
        (["You can return it within 30 days.", "商品可在30天内退货。"], [ENGLISH]),
    ],
)
def test_a_shared_language_can_be_compared(statements: list[str], others: list[str]) -> None:
    assert not differ(statements, others)


@pytest.mark.parametrize(
    "name", ["XPS 13", "Windows 11", "30", "", "Dell XPS 13, Windows 11", "the XPS 13 with Windows"]
)
def test_names_and_numbers_are_in_no_language(name: str) -> None:
    assert not differ([name], [CHINESE])


def test_without_anything_to_compare_nothing_is_foreign() -> None:
    assert not differ(["商品可在30天内退货。"], [])
    assert not differ(["商品可在30天内退货。"], [""])
    assert not differ([], [ENGLISH])


def test_a_title_in_another_language_is_not_prose() -> None:
    film = "《The Lord of the Rings》由彼得·杰克逊执导，于2001年上映，获得四项奥斯卡奖。"
    film += "影片根据英国作家托尔金的同名小说改编。"
    assert differ(["The film was directed by somebody else."], [film])
    told = "The Chinese title of the film is 指环王. " + "It was shown in all of the world. " * 9
    assert differ(["这部电影由别人执导。"], [told])


def test_names_that_both_languages_spell_alike_can_be_compared() -> None:
    assert not differ(["It is the XPS 13 with Windows 11."], [CHINESE])
