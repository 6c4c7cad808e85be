"""What the story says, in both languages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Words:
    """The sentences of the story; braces hold what is filled in."""

    language: str
    """Its code, for the names of metrics."""
    starting: str
    watch: str
    serving: str
    breaking: str
    fired: str
    stays: str
    metric: str
    good: str
    broken: str
    firing: str


WORDS: Final = {
    "en": Words(
        language="en",
        starting="Starting the monitor and the application …",
        watch="Open {url} to watch the page.",
        serving="Release {release} answers {questions} questions …",
        breaking="Release {release}: the retriever is broken, the answerer invents …",
        fired="The alerts fired.",
        stays="Everything keeps running; press Ctrl-C to stop.",
        metric="metric",
        good="good ({count} scored)",
        broken="broken ({count} scored)",
        firing="ALERT firing: {rule}",
    ),
    "zh": Words(
        language="zh",
        starting="正在启动监控和示例应用……",
        watch="打开 {url} 即可查看页面。",
        serving="版本 {release} 正在回答 {questions} 个问题……",
        breaking="版本 {release}：检索失灵，回答开始编造……",
        fired="告警已触发。",
        stays="监控和应用仍在运行，按 Ctrl-C 结束。",
        metric="指标",
        good="正常（已评 {count} 条）",
        broken="故障（已评 {count} 条）",
        firing="告警触发：{rule}",
    ),
}
"""Language code to what is said in it."""
