"""Which spans do a task beside the answer: name the conversation, choose the way, check, rewrite.

They are known by their name or by what the model is told to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rag_monitor.language.normalise import to_simplified


@dataclass(frozen=True, slots=True, kw_only=True)
class _SideTask:
    """One kind of side task, as patterns for `re`; they see Chinese in simplified characters."""

    named: str = ""
    """In names of spans and agents."""
    instructed: str
    """In the beginning of what a model is told to do."""
    may_answer: bool = False
    """It is no side task where the model is also told to answer."""


_SIDE_TASKS: Final = (
    _SideTask(  # a title
        named=r"title|topic|标题",
        instructed=r"\btitles?\b.{0,60}\b(?:conversation|chat|thread|session|dialog)"
        r"|\b(?:name|label|headline)\b.{0,20}\b(?:conversation|chat|thread|session)"
        r"|\b(?:generate|create|write|produce|suggest|give|make)\b.{0,30}\btitle"
        r"|(?:生成|产生|起|取|拟|写|给出|提炼|概括|总结|归纳|创建)[^。；\n回答]{0,12}"
        r"(?:标题|题目|名字|名称|主题|话题)"
        r"|(?:对话|会话|聊天)[^。；\n]{0,6}(?:标题|主题|名称|命名)|标题[^。；\n]{0,4}(?:生成|助手|专家)",
    ),
    _SideTask(  # tags and key words
        named=r"keyword",
        instructed=r"\btags?\b.{0,60}\b(?:conversation|chat)"
        r"|\bextract\b.{0,30}\bkey ?(?:word|term|phrase)s"
        r"|(?:提取|抽取|生成|列出)[^。；\n回答]{0,12}(?:关键词|关键字|检索词|搜索词|查询词|标签)",
    ),
    _SideTask(  # a summary of the conversation
        named=r"\bmemor|summar\w*\W(?:\w+\W)?(?:conversation|history|chat)"
        r"|(?:conversation|history|chat)\Wsummar",
        instructed=r"\bsummari[sz]e\b.{0,40}\b(?:conversation|chat|history|dialog)"
        r"|(?:总结|概括|归纳|摘要|压缩|浓缩)[^。；\n回答]{0,12}(?:对话|会话|聊天|历史)"
        r"|(?:对话|会话|聊天|历史)[^。；\n回答]{0,6}(?:做|作|进行|压缩|写|生成)"
        r"[^。；\n回答]{0,8}(?:总结|概括|归纳|摘要)",
    ),
    _SideTask(  # where the request goes
        named=r"rout(?:e|er|ing)\b|classif|intent|路由|分类|意图",
        instructed=r"\bclassif(?:y|ier|ication)|\broute(?:r|s|d)?\b|\brouting\b|\bintent\b"
        r"|\b(?:determine|decide) (?:if|whether) "
        r"(?:the|a|this) (?:question|query|user|message|input)"
        r"|\bwhich (?:tool|agent|index|knowledge base)\b"
        r"|(?:判断|识别|分析|确定)[^。；\n]{0,12}意图|意图(?:识别|分类|判断)|路由|分类"
        r"|(?:判断|识别|确定|选择|选出)[^。；\n]{0,16}"
        r"(?:类别|类型|哪一?类|安全|合规|是否需要|知识库|工具)",
    ),
    _SideTask(  # the question in other words
        named=r"rewrit|rephras|reformulat|condens|expan[ds]|hyde|multi.?query|改写",
        instructed=r"\b(?:rewrite|rephrase|reformulate|condense|translate)\b.{0,60}"
        r"\b(?:question|query|input)"
        r"|\b(?:version|variant)s? of\b.{0,40}\b(?:question|query)"
        r"|\bsub-?(?:question|querie)s\b|standalone question|search quer(?:y|ies)"
        r"|改写|重写|假设性?文档|子问题"
        r"|(?:问题|查询)[^。；\n回答]{0,4}翻译|翻译[^。；\n回答]{0,6}(?:问题|查询)",
    ),
    _SideTask(  # what to ask next
        named=r"suggest|follow.?up|追问",
        instructed=r"follow[- ]?up (?:question|input)|追问"
        r"|(?:推荐|建议)[^。；\n回答]{0,8}问题|(?:可能|会|想)(?:继续|接着)[^。；\n]{0,4}问",
    ),
    _SideTask(  # a guard
        named=r"guard|moderat|safety|jailbreak|injection|\bpii\b|审核|护栏",
        instructed=r"\bmoderat|jailbreak|prompt injection",
    ),
    _SideTask(  # a mark
        named=r"judge|grad(?:e|er|ing)\b|evaluat|critiqu",
        instructed=r"\b(?:grade|rate|score|judge)\b.{0,60}\b(?:answer|relevan|document|response)"
        r"|是否相关|(?:给|对|为)[^。；\n]{0,12}(?:打分|评分)",
    ),
    _SideTask(  # a look at an answer or a passage
        instructed=r"(?:(?:^|[.:!?]\s+|\n\s*)(?:is|are|does|do)"
        r"|\b(?:check|verify|assess|determine|decide|evaluate|whether)(?: (?:if|whether|that))?)"
        r" (?:the|this|an?|each)\b.{0,20}"
        r"\b(?:answer|generation|response|claim|document|passage|context|chunk)s?\b.{0,60}"
        r"\b(?:grounded|supported|faithful|hallucinat|factual|consistent|relevan|address)"
        r"|\bextract\b.{0,40}\b(?:part|passage|sentence|section|snippet)s?\b"
        r"|(?:判断|检查|核查|核对|评估|验证|审查)[^。；\n]{0,16}(?:回答|答案|回复)"
        r"[^。；\n]{0,16}(?:是否|有没有|有无)"
        r"|(?:提取|抽取|摘录|保留)[^。；\n回答]{0,16}相关的?(?:部分|片段|句子|段落|内容)",
        may_answer=True,
    ),
)


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(filter(None, patterns)), re.IGNORECASE | re.DOTALL)


_NAMED: Final = _any_of(task.named for task in _SIDE_TASKS)
_INSTRUCTED: Final = _any_of(task.instructed for task in _SIDE_TASKS if not task.may_answer)
_CHECKS: Final = _any_of(task.instructed for task in _SIDE_TASKS if task.may_answer)
_ANSWERING: Final = re.compile(
    r"(?:^|[.:!?,\n]\s*|\band |\bthen )(?:please )?answer (?:the|their|users?|from|using|in)\b"
    r"|(?:^|[，。；：！、\n]|再|并|然后|(?:根据|按照|依据|结合)[^，。；\n]{1,12})\s*"
    r"请?(?:简洁|准确|详细|如实)?地?回答(?:用户|客户|顾客|问题|下)",
    re.IGNORECASE,
)
_LOOKED_AT: Final = 300
"""Characters of instructions that are looked at."""


def names_side_task(name: str) -> bool:
    """Whether the name of a span or agent, in words, is that of a side task."""
    return _NAMED.search(to_simplified(name)) is not None


def instructs_side_task(text: str) -> bool:
    """Whether what a model is told, in its first 300 characters, is a side task."""
    text = to_simplified(text[:_LOOKED_AT])
    if _INSTRUCTED.search(text):
        return True
    return _CHECKS.search(text) is not None and _ANSWERING.search(text) is None
