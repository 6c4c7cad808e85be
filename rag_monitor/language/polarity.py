"""Negation, comparison and opposites in Chinese and English text."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final, NamedTuple

from rag_monitor.language.alternatives import quick
from rag_monitor.language.hints import Hints
from rag_monitor.language.stems import stem
from rag_monitor.language.tokens import is_content, is_han, tokenise

_NEGATION: Final = quick(
    r"\b(?:not|never|no longer|cannot|nobody|nothing|none|neither|nor|without|no|hardly|rarely)\b"
    r"|n't\b|\bnon-(?=[a-z])|\b(?:unable|unlikely|fails? to|failed to|refus\w+ to|lacks?"
    r"|denied|denies)\b"
    r"|不(?!仅|但|断|过|少|同|久|止|只|论|管|妨|禁|得不|可避免|良|错|绝|知不觉|约而同|言而喻)|没有|(?<![淹沉出埋吞覆湮])没(?!有|错|准|事|关系|问题|什么|落|收(?!到)|入)|未(?!来|必|婚|成年)|"
    r"并非|无(?!论|线|锡|数|人机|限)|勿|(?<![分特个级差区性类告辨识])别(?=[^的人墅名急慌怕忘])(?!着急|担心)|莫(?=[^斯])|绝非|从未|尚未|禁止|"
    r"拒绝|否认|取消|禁(?=[用服食](?:[。，；：！？;:!?,.]|$))"
)
_DOUBLE: Final = quick(
    r"不得不|不可不|无不|不是不|not only|not just|not necessarily|no doubt"
    r"|\b(?:no|not)(?= (?:more|less|fewer|later|earlier|longer|higher|lower|older|younger|larger"
    r"|smaller|sooner|greater|further|better|worse) than\b)"
    r"|(?:[不未没](?:得|能|可|可以|应|会|要|允许|准)?(?:再)?|没有)(?=低于|高于|少于|多于|超过|超出|小于|大于|晚于|早于|迟于)"
)

_OPPOSITES: Final = """
increase decrease; rise fall; raise lower; grow shrink; gain lose; more less; more fewer; high low;
higher lower; highest lowest; maximum minimum; most least; before after; earlier later; first last;
begin end; start finish; open close; accept reject; allow forbid; allow prohibit; approve reject;
win lose; victory defeat; succeed fail; success failure; support oppose; include exclude; positive
negative; true false; male female; man woman; boy girl; husband wife; brother sister; father mother;
son daughter; king queen; north south; east west; northern southern; eastern western; left right;
upper lower; above below; over under; inside outside; internal external; domestic foreign; domestic
international; import export; buy sell; borrow lend; lend borrow; hot cold; warm cool; heat cool;
large small; larger smaller; largest smallest; big small; long short; longer shorter; tall short;
fast slow; early late; new old; young old; older younger; rich poor; strong weak; heavy light; deep
shallow; wide narrow; thick thin; hard soft; safe dangerous; easy difficult; cheap expensive; public
private; local national; temporary permanent; voluntary mandatory; optional required; legal illegal;
possible impossible; alive dead; birth death; born die; day night; morning evening; summer winter;
spring autumn; major minor; majority minority; always never; all none; every no; up down; add
remove; attach detach; enable disable; connect disconnect; same different; similar different; better
worse; best worst; improve worsen; strengthen weaken; expand contract; accelerate slow; often
rarely; present absent; above below; ancient modern; single married; amateur professional; rural
urban; full empty; wet dry; hire fire; join leave; arrive depart; enter exit; ally enemy; cause
prevent; agree disagree; inner outer; front back; top bottom; liquid solid; hourly daily; daily
weekly; weekly monthly; monthly annual; black white; red blue; red green; green blue; credit debit;
profit loss; asset liability; teacher student; doctor patient; employer employee; buyer seller;
parent child; host guest; plaintiff defendant; winter summer; minimum maximum; upload download;
allow ban; allow refuse; allow forbidden; allow deny; permit forbidden; permit forbid; permit
prohibit; permit ban; permit deny;
accept refuse; accept decline; grant deny; grant refuse; approve deny; confirm deny; cover exclude;
cover omit; encourage discourage; recommend discourage; continue stop; continue cease; keep
discard; remember forget; obey disobey; advantage disadvantage; benefit harm; helpful harmful;
accurate inaccurate; complete incomplete; active inactive; effective ineffective; correct
incorrect; sufficient insufficient; dependent independent; visible invisible; formal informal;
direct indirect; eligible ineligible; valid invalid; secure insecure; adequate inadequate;
appropriate inappropriate; regular irregular; relevant irrelevant; reversible irreversible; mature
immature; mobile immobile; moral immoral; patient impatient; perfect imperfect; proper improper;
required optional; required unnecessary; refundable nonrefundable; free paid; online offline;
indoor outdoor; exempt liable; lawful unlawful; renew cancel; agree refuse; comply violate;
grow decline; rise decline; increase decline
"""
_HAN_OPPOSITES: Final = (
    "上升 下降;增加 减少;增长 下降;增长 减少;提高 降低;上涨 下跌;上调 下调;上浮 下浮;"
    "升高 降低;最高 最低;最多 最少;"
    "最大 最小;高于 低于;多于 少于;大于 小于;超过 不足;至少 至多;之前 之后;以前 以后;前 后;"
    "以上 以下;"
    "开始 结束;打开 关闭;允许 禁止;"
    "支持 反对;同意 拒绝;同意 反对;批准 否决;成功 失败;胜 负;赢 输;男 女;父亲 母亲;"
    "儿子 女儿;哥哥 弟弟;姐姐 妹妹;丈夫 妻子;南 北;"
    "东部 西部;左 右;内部 外部;国内 国外;国内 国际;进口 出口;买入 卖出;购买 出售;收入 支出;"
    "盈利 亏损;热 冷;大 小;多 少;长 短;快 慢;"
    "早 晚;新 旧;强 弱;好 坏;安全 危险;容易 困难;便宜 昂贵;公开 秘密;公立 私立;临时 长期;"
    "自愿 强制;合法 非法;可能 不可能;"
    "出生 去世;白天 夜间;白天 晚上;夏季 冬季;春季 秋季;主要 次要;多数 少数;全部 部分;"
    "所有 部分;所有 个别;任何 部分;总是 从不;正面 负面;"
    "积极 消极;乐观 悲观;加强 削弱;扩大 缩小;加快 放缓;改善 恶化;赞成 反对;城市 农村;"
    "线上 线下;首套 二套;首次 再次;第一 第二;第二 第三;"
    "甲方 乙方;买方 卖方;单身 已婚;固定 浮动;长期 短期;免费 收费;必须 无需;必须 可以;"
    "有 没有;存款 贷款;上午 下午;上半年 下半年;周一 周五;"
    "上限 下限;不低于 不高于;优先 其次;集中 分散;统一 分裂;先进 落后;富裕 贫穷;富 穷;高 低;"
    "冷淡 热情;喜欢 讨厌;满意 不满;加入 退出;加入 离开;"
    "允许 不得;允许 严禁;允许 谢绝;可以 不得;可以 禁止;可以 严禁;接受 拒绝;接受 谢绝;批准 驳回;"
    "通过 否决;包含 排除;包括 排除;涵盖 排除;保留 删除;保留 取消;继续 停止;启用 停用;有效 无效;"
    "有害 无害;有利 不利;有关 无关;必需 可选;必填 选填;付费 免费;有偿 无偿;完整 残缺;正常 异常;"
    "正确 错误;真实 虚假;已婚 未婚;成年 未成年;存在 消失;出席 缺席;赞扬 批评;表扬 批评;鼓励 劝阻;"
    "承认 否认;肯定 否定;遵守 违反;室内 室外;到达 离开;提前 推迟;提前 延期;延长 缩短;放宽 收紧;"
    "宽松 严格;繁荣 萧条;复杂 简单;熟悉 陌生;干净 肮脏;干燥 潮湿;勤劳 懒惰;诚实 虚伪;谦虚 骄傲;"
    "高兴 难过;开心 难过;高兴 生气;聪明 愚蠢;美丽 丑陋;年轻 年老;活着 去世;健康 生病;记得 忘记;"
    "相同 不同;一样 不同;单独 一起;独自 一起;首先 最后;从来 偶尔;经常 很少;经常 从不;偶尔 总是"
)


def _table() -> dict[str, frozenset[str]]:
    pairs: dict[str, set[str]] = {}
    for group in _OPPOSITES.split(";"):
        words = [stem(word) for word in group.split()]
        _link(pairs, words)
    for group in _HAN_OPPOSITES.split(";"):
        _link(pairs, group.split())
    return {word: frozenset(others) for word, others in pairs.items()}


def _link(pairs: dict[str, set[str]], words: list[str]) -> None:
    if len(words) == 2 and words[0] != words[1]:
        pairs.setdefault(words[0], set()).add(words[1])
        pairs.setdefault(words[1], set()).add(words[0])


OPPOSITES: Final = _table()
"""Word (English: stemmed; Chinese: as written) to its opposites."""

HAN_OPPOSITES: Final = tuple(
    tuple(group.split()) for group in _HAN_OPPOSITES.split(";") if len(group.split()) == 2
)
"""Pairs of Chinese opposites, for matching inside unsegmented text."""


_NEGATIVE_TEXT: Final = """
not never cannot nobody nothing none neither nor without no hardly rarely unable unlikely
fail fails failed lack lacks denied denies
"""
_NEGATIVE: Final = frozenset(map(stem, _NEGATIVE_TEXT.split()))


_HAN_NEGATIVE: Final = re.compile("[不没未非无勿别莫绝尚禁拒否取]")


def may_negate(folded: str, tokens: frozenset[str]) -> bool:
    """Whether folded text with these tokens can hold a negation; a quick look before a long one."""
    return (
        (not folded.isascii() and _HAN_NEGATIVE.search(folded) is not None)
        or not _NEGATIVE.isdisjoint(tokens)
        or "n't" in folded
        or "non-" in folded
        or "refus" in folded
    )


_DENYING: Final = Hints(
    (*"不没未无勿禁", "not", "n't", "no ", "never", "without", "neither", "nor ")
)


def may_deny(folded: str) -> bool:
    """As `may_negate`, of text that is not yet words: the commonest negations only."""
    return _DENYING.found(folded)


_MODAL: Final = frozenset("能会得应须需要可是有被再太很必仅只许予在到了过曾")
_REACH: Final = 14
_NEAR: Final = 6
_HAN_NEAR: Final = 10
"""Tokens after a negation that it may still be about; a Han character is half a word."""
_CLAUSE_ENDS: Final = re.compile(r"[，。；：！？;:!?]|[,.](?!\d)")
"""A negation reaches no further."""


_PREFIXES: Final = ("un", "non")
_BEGINNINGS: Final = frozenset({"un", "no"})
_SHORTEST_ROOT: Final = 3


def undo(tokens: frozenset[str], others: frozenset[str]) -> bool:
    """Whether any of `tokens` undoes one of `others`: covered and uncovered."""
    if not any(token[:2] in _BEGINNINGS for token in tokens) and not any(
        token[:2] in _BEGINNINGS for token in others
    ):
        return False
    return any(undoes(token, others) for token in tokens)


def undoes(token: str, others: frozenset[str]) -> bool:
    """Whether one of `others` is the stem `token` with a prefix of denial, or without it."""
    for prefix in _PREFIXES:
        if prefix + token in others and len(token) >= _SHORTEST_ROOT:
            return True
        root = token.removeprefix(prefix)
        if root != token and len(root) >= _SHORTEST_ROOT and root in others:
            return True
    return False


class Denials(NamedTuple):
    """What the negations of a sentence deny."""

    heads: frozenset[str]
    """The first content word or Han pair after each: "is not covered" gives the stem of "covered",
    不得提前支取 gives 提前."""
    reach: frozenset[str]
    """Every content word and Han pair shortly after one, heads included."""


NOTHING_DENIED: Final = Denials(frozenset(), frozenset())


_NEEDS: Final = re.compile(
    r"\bwithout\b[^.;:!?]*(?:\b(?:no|not|never|cannot|nobody|nothing)\b|n't\b)"
    r"|(?:\b(?:no|not|never|cannot|nobody|nothing)\b|n't\b)[^.,;:!?]*\bwithout\b"
)
"""Two denials that say what something needs: not valid without a photo."""


def denials(folded: str) -> Denials:
    """What the negations of folded text deny; none reaches beyond its clause."""
    heads, reach = set(), set()
    plain = _DOUBLE.sub(lambda found: " " * len(found.group()), folded)
    if "without" in plain and _NEEDS.search(plain):
        return NOTHING_DENIED
    for match in _NEGATION.finditer(plain):
        clause = _CLAUSE_ENDS.split(plain[match.end() : match.end() + _REACH * 3], maxsplit=1)[0]
        tokens = tokenise(clause)
        head = _head(tokens)
        if head:
            heads.add(head)
            near = tokens[: _HAN_NEAR if is_han(head[0]) else _NEAR]
            reach.update(near)
            reach.update(a + b for a, b in pairwise(near) if is_han(a) and is_han(b))
    return Denials(frozenset(heads), frozenset(reach | heads))


def _head(tokens: list[str]) -> str:
    for position, token in enumerate(tokens[:_REACH]):
        if is_han(token):
            if token in _MODAL:
                continue
            following = tokens[position + 1 : position + 2]
            return token + (following[0] if following and is_han(following[0]) else "")
        if is_content(token) and not token[0].isdigit():
            return token
    return ""
