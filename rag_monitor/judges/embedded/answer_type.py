"""What kind of thing a question asks for, and whether text holds one.

A *measured* kind (a price, a date, how long) is recognised exactly, by the numbers and dates that
text states. Any other (a reason, a place, a way) is told by the words that such answers hold, which
most text holds some of, so it counts as a weaker feature of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from rag_monitor.judges.embedded.segments import IndexedPassage, Segment
from rag_monitor.judges.embedded.yes_no_answers import says_no_to
from rag_monitor.language.dates import Date
from rag_monitor.language.entities import capitalised_words
from rag_monitor.language.quantity import TIME, Quantity
from rag_monitor.language.replies import is_bare_reply, says_no
from rag_monitor.language.units import CURRENCY

_TIMES: Final = "ms second minute hour day workday week fortnight month night year decade"
_TIME_UNITS: Final = frozenset(_TIMES.split())
_LENGTHS: Final = frozenset(("km", "m", "cm", "mm", "mile", "foot", "inch"))
_MONEY: Final = frozenset(CURRENCY.values())


class Measured(NamedTuple):
    """A kind of answer that is a number or a date."""

    question: re.Pattern[str]
    """Of folded questions."""
    units: frozenset[str] | None
    """Units of its quantities; None: any."""
    kinds: frozenset[str] = frozenset()
    """Kinds of quantity that do whatever their unit."""
    dated: bool = False
    """Whether a date does."""
    worded: re.Pattern[str] | None = None
    """What does without a number."""

    def holds_in(
        self,
        quantities: Iterable[Quantity],
        dates: Iterable[Date],
        folded: str,
        given: str = "",
    ) -> bool:
        """Whether numbers, dates or words of a text are of this kind; words that are not given."""
        return (
            (self.dated and any(True for _ in dates))
            or any(
                q.kind in self.kinds or self.units is None or q.unit in self.units
                for q in quantities
            )
            or (
                self.worded is not None
                and any(match[0] not in given for match in self.worded.finditer(folded))
            )
        )


_MEASURED: Final = (
    Measured(  # a time of day
        re.compile(
            r"\b(?:at )?what time\b|\bopening (?:hours|times)\b|\bhow (?:late|early)\b"
            r"|几点|几时|(?:营业|开放|上班|发车|开门|关门)(?:的)?时间"
        ),
        frozenset(),
        kinds=frozenset({TIME}),
        worded=re.compile(
            r"\b(?:noon|midnight|around the clock)\b|中午|午夜|全天|(?:二十四|24)小时"
        ),
    ),
    Measured(
        re.compile(
            r"\bhow much (?:does|do|did|will|would|is|are|was|must)\b.*\b(?:cost|pay|charge|fee"
            r"|price)|\bhow much (?:is|are|was)\b|\b(?:price|cost|fee|fine|fare|rent|deposit|charge"
            r"|salary|wage)s?\b|\bhow expensive\b"
            r"|多少(?:钱|元|费用)|几(?:块|元)|费用|价格|票价|价钱|收费|租金|押金|运费|工本费"
        ),
        _MONEY,
        kinds=frozenset({"money"}),
        worded=re.compile(r"\b(?:free|no charge|nothing)\b|免费|不收|不要钱|无需付费|不花钱"),
    ),
    Measured(
        re.compile(
            r"\b(?:what|which) (?:share|percentage|proportion|part|fraction|rate)\b"
            r"|\b(?:interest|tax|error|success|discount) rate\b"
            r"|百分之|百分比|比例|几成|几分之几|利率|税率|占比|几折|几倍|率是多少"
        ),
        frozenset({"time"}),
        kinds=frozenset({"percent"}),
        worded=re.compile(r"\b(?:half|third|quarter|fifth|tenth|twice|double)\b|分之|一半|[两三四五]成|倍"),
    ),
    Measured(
        re.compile(r"\btemperature\b|\bhow (?:hot|cold|warm)\b|多少度|几度|温度"),
        frozenset({"degree", "degree c", "degree f"}),
    ),
    Measured(
        re.compile(
            r"\bhow often\b|\bhow frequently\b|多(?:久|长时间)(?:\S{0,8})?一次|几次|频率"
        ),
        _TIME_UNITS | {"time"},
        worded=re.compile(
            r"\b(?:daily|weekly|monthly|yearly|annually|hourly|every|each|once|twice|never|always)\b"
            r"|每[天日周月年隔次季]|每个|从不|一次|半年"
        ),
    ),
    Measured(
        re.compile(
            r"\bhow (?:long|soon|quickly)\b|\bhow many (?:seconds|minutes|hours|days|weeks|months"
            r"|years|nights)\b|\b(?:what|which) (?:period|term|duration)\b"
            r"|\bhow much (?:time|notice)\b|多久|多长时间"
            r"|[几多少]+(?:个)?(?:秒|分钟|小时|天|日|工作日|星期|周|月|年(?!级|代))(?!\S*开始)|期限|时限|保质期|有效期|保修期|时效"
        ),
        _TIME_UNITS | _LENGTHS,
        worded=re.compile(
            r"\b(?:forever|overnight|a day|an hour|a week|a year)\b|半[天年]|终身|永久|[当次]日"
        ),
    ),
    Measured(
        re.compile(
            r"^when\b|\bwhen (?:do|does|did|is|are|was|were|will|can|may|should|must)\b"
            r"|\b(?:what|which) (?:year|date|day|month|century|season)\b|\bdeadline\b"
            r"|什么时候|何时|哪一?[年天日月]|哪个月|几月|几号|日期|星期几|周几|什么时间|哪个(?:朝代|世纪|季节)|时间"
        ),
        frozenset(),
        kinds=frozenset({TIME}),
        dated=True,
        worded=re.compile(
            r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day|\b(?:yesterday|today|tomorrow|noon"
            r"|midnight|century|spring|summer|autumn|winter|morning|evening|never)\b"
            r"|\b\d+ b\.?c\b|公元前|前\d+年|周[一二三四五六日末]"
            r"|星期|今天|明天|昨天|世纪|[春夏秋冬]"
            r"|[初末]年|朝"
        ),
    ),
    Measured(
        re.compile(
            r"\bhow (?:far|tall|high|deep|wide|thick|big|large|long)\b|\b(?:what|which) (?:distance"
            r"|height|depth|width|length|size)\b|多[高远深宽厚长大]|(?:高度|长度|深度|宽度|距离|海拔|尺寸)"
        ),
        _LENGTHS | {"sqm", "sqkm", "hectare", "mu"},
        worded=re.compile(r"\d[多余](?:公里|千米|米|厘米|平方)"),
    ),
    Measured(
        re.compile(
            r"\bhow (?:many|much|old|fast|heavy|loud|strong)\b|\b(?:what|which) (?:\w+ )?(?:number"
            r"|amount|age|speed|weight|pressure|dose|limit|capacity|volume|area|population|voltage"
            r"|score)\b|\bwhat is the (?:\w+ ){0,3}(?:number|amount|speed|weight|pressure|dose"
            r"|limit|maximum|minimum|capacity|population)\b"
            r"|多少|几(?!乎)[^何]|多[重快]|(?:速度|重量|面积|人口|容量|数量|剂量|浓度|上限|下限)(?:是|为)?"
        ),
        None,
    ),
)  # fmt: skip
_PERSON: Final = re.compile(r"\bwho(?:se|m)?\b|谁|哪位|何人|什么人")
_PERSON_TOLD: Final = re.compile(
    r"先生|女士|教授|博士|皇帝|老师|人员|经理|部门|公司|单位|个人|[率领由]|承担|负责|[南北东西]?[宋唐明清汉朝]"
)
_REASON: Final = (
    re.compile(r"\bwhy\b|\bwhat (?:cause|reason)|\bhow come\b|为什么|为何|原因|怎么会|何以"),
    re.compile(
        r"\b(?:because|since|due|owing|thus|therefore|hence|so that|reasons?|causes?|caused|leads?"
        r"|results?|otherwise|whereas|which is why)\b"
        r"|因为|由于|因此|所以|导致|使得|为了|以免|从而|于是|造成|引起|原因"
    ),
)
_WHETHER: Final = (
    re.compile(
        r"^(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|may|must|am)"
        r"\b|[,;] (?:is|are|do|does|can|may|must|will) |吗|是否|[能可]否|能不能|可不可以|是不是"
        r"|会不会|有没有|要不要|需不需要|算不算"
    ),
    re.compile(
        r"\b(?:may|must|cannot|can't|allowed|permitted|forbidden|prohibited|not|no|only|unless|except"
        r"|required|needn't|safe|yes|never)\b"
        r"|可以|不[得能可必行准许宜]|禁止|严禁|允许|必须|无[需须]|原则上|放心|谢绝|没有"
    ),
)
_WORDED: Final = (
    (
        re.compile(
            r"\bwhere\b|\b(?:what|which) (?:country|city|town|place|room|floor|desk|office|street"
            r"|department|page|menu)\b|哪里|哪儿|在哪|到哪|去哪|何处|什么地方|哪个?(?:国家|城市|省|市|地方|部门|窗口|楼)"
        ),
        re.compile(
            r"\b(?:street|road|lane|avenue|square|building|floor|room|desk|counter|office|gate|hall"
            r"|station|north|south|east|west|coast|city|town|village|island|river|region|menu|tab|page"
            r"|portal|settings|folder|shelf|corner|next to|behind|opposite|beside|near|under|inside"
            r"|at|located|found)\b"
            r"|位于|地处|坐落|[楼层室路街]|大厅|窗口|柜台|旁|对面|附近|[省市县州镇]|网站|官网|页面"
        ),
    ),
    (
        re.compile(
            r"哪一?[本部篇首份幅]|\b(?:what|which) (?:book|novel|film|song|magazine|paper)\b"
        ),
        re.compile(r"《|\""),
    ),
    _WHETHER,
    (
        re.compile(
            r"\bhow (?:do|can|to|should|could|does|did|is|are|was|were|would|will)\b"
            r"|\bwhat (?:should|can|must|do) (?:i|we|you|one)\b"
            r"|\bsteps?\b|怎么|怎样|如何|怎么办|步骤|流程|办法"
        ),
        re.compile(
            r"\b(?:open|click|press|select|choose|set|tap|enter|turn|pull|push|fill|send|hold|remove"
            r"|switch|first|then|until)\b"
            r"|点击|打开|进入|选择|登录|然后|输入|携带|填写|提交|拨打|即可|[先再]"
        ),
    ),
    (
        re.compile(
            r"\bwhat (?:is|are|was|were|does)\b|\bwhat happens\b|\bdefine\b|\bmean(?:s|ing)?\b"
            r"|是什么|什么是|什么叫|何谓|意思|含义|表示什么|是指"
        ),
        re.compile(
            r"\b(?:is an?|are|means?|refers?|called|known as|kind of|type of|defined|stands for)\b"
            r"|是指|指的|称为|叫做|表示|意味|意思|属于|就是|一种"
        ),
    ),
)  # fmt: skip

_CHOICE: Final = re.compile(r"\b(?:or|which)\b|还是|哪")
_BARE: Final = 4
"""Tokens of what may be a name and nothing else."""


class AnswerType:
    """What kind of thing a question asks for.

    Args:
        question: Says so.
        earlier: What was said before the answer, of which nothing answers the question; None: only
            the question.
    """

    def __init__(self, question: Segment, earlier: Segment | None = None) -> None:
        folded = question.folded
        self._continues = earlier is not None
        given = earlier or question
        self._given_text = given.folded
        self._given_quantities = frozenset((q.value, q.unit) for q in given.quantities)
        self._given_dates = frozenset(date[:3] for date in given.dates)
        self._words_given = given.token_set
        self._names = frozenset(name for name, _ in capitalised_words(given.text))
        self._person = _PERSON.search(folded) is not None
        self._measured: Measured | None = None
        self._worded: re.Pattern[str] | None = None
        if not self._person:
            self._worded = _REASON[1] if _REASON[0].search(folded) else None
        if not (self._person or self._worded):
            self._measured = next(
                (kind for kind in _MEASURED if kind.question.search(folded)), None
            )
        if not (self._person or self._worded or self._measured):
            self._worded = next((states for asks, states in _WORDED if asks.search(folded)), None)
        self._whether = self._worded is _WHETHER[1]
        self._choice = _CHOICE.search(folded) is not None

    @property
    def measured(self) -> bool:
        """Whether a number or a date is asked for."""
        return self._measured is not None

    @property
    def worded(self) -> bool:
        """Whether something else is that words tell."""
        return self._person or self._worded is not None

    @property
    def whether(self) -> bool:
        """Whether yes or no is asked for."""
        return self._whether

    def chosen_by(self, answer: Segment) -> bool:
        """Whether an answer needs no words of its own: yes or no, or one of two things."""
        replies = (
            is_bare_reply(answer.folded) or says_no_to(answer.folded, self._given_text) is not None
        )
        if self._whether and replies:
            return True
        return self._choice and answer.content_set <= self._words_given

    def stated_by(self, segment: Segment) -> bool:
        """Whether one sentence holds what is asked for and the question does not state."""
        if self._measured is None:
            return self._words(segment)
        return self._states(self._measured, segment.quantities, segment.dates, segment.folded)

    def stated_in(self, passage: IndexedPassage) -> bool:
        """The same of the sentences of a passage."""
        if self._measured is None:
            return any(self._words(segment) for segment in passage.sentences)
        quantities = [quantity for quantity, _ in passage.quantities]
        dates = [date for date, _ in passage.dates]
        return self._states(self._measured, quantities, dates, passage.folded)

    def _states(
        self,
        kind: Measured,
        quantities: Iterable[Quantity],
        dates: Iterable[Date],
        folded: str,
    ) -> bool:
        return kind.holds_in(
            [q for q in quantities if (q.value, q.unit) not in self._given_quantities],
            [date for date in dates if date[:3] not in self._given_dates],
            folded,
            self._given_text if self._continues else "",
        )

    def _words(self, segment: Segment) -> bool:
        if self._person:
            bare = len(segment.tokens) <= _BARE
            named = any(
                name not in self._names and (bare or not opening)
                for name, opening in capitalised_words(segment.text)
            )
            return named or any(
                match[0] not in self._given_text for match in _PERSON_TOLD.finditer(segment.folded)
            )
        if self._whether and says_no(segment.folded) is not None:
            return True
        return self._worded is not None and any(
            match[0] not in self._given_text for match in self._worded.finditer(segment.folded)
        )


@lru_cache(maxsize=1024)
def answer_type(question: str, earlier: str | None = None) -> AnswerType:
    """What a question asks for; questions recur, and each is asked of passages and answer."""
    return AnswerType(Segment(question), None if earlier is None else Segment(earlier))
