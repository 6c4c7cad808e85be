"""Forms of what is wrong with the passages and files of rows, and with gates, and their Chinese.

Used by `problems`, as those of `setup_problems` are.
"""

from __future__ import annotations

from typing import Final

_SHAPES: Final = "段落应为文字，或带有 `content`、`page_content` 或 `text` 的对象"

FORMS: Final = (
    (r"`(\S+)` cannot be read: an object with (.+); a passage is .+",
     rf"`\1` 无法读取：是带有 \2 的对象；{_SHAPES}"),
    (r"`(\S+)` cannot be read: an empty object; a passage is .+",
     rf"`\1` 无法读取：是空对象；{_SHAPES}"),
    (r"`(\S+)` cannot be read: it is (?:a )?(\S+); a passage is .+",
     rf"`\1` 无法读取：类型为 \2；{_SHAPES}"),
    (r"`(\S+)` has (\d+) ids for (\d+) passages", r"`\1` 有 \2 个编号，而段落有 \3 个"),
    (r"`(\S+)` must be a list of ids", r"`\1` 须为编号列表"),
    (r"cannot read (.+) as a workbook: (.+)", r"\1 无法作为 Excel 工作簿读取：\2"),
    (r"(.+) is larger than (\S+) bytes unpacked; save it as \.csv",
     r"\1 解压后大于 \2 字节；请另存为 .csv"),
    (r"(.+): save it as (\.\w+) or (\.\w+); (\.\w+) is not read",
     r"\1：不支持 \4；请另存为 \2 或 \3"),
    (r"(.+), line (\d+): write a term and its weight above 0, e\.g\. (.+)",
     r"\1 第 \2 行：请写关键词和大于 0 的权重，例如 \3"),
    (r"target profile (.+): ('.*') is no hit rate; write it as (\S+)",
     r"目标 \1：\2 不是命中率；请写成 \3"),
    (r"(\S+): rows without a score: (\S+), more than (\S+) \(--max-missing\): (.+)",
     r"\1：\2 的行没有分数，超过 --max-missing 的 \3：\4"),
    (r"(\S+): rows without a pair of scores: (\S+), more than (\S+) \(--max-missing\): (.+)",
     r"\1：\2 的行无法成对比较，超过 --max-missing 的 \3：\4"),
    (r"questions without a stored answer: (\S+), more than (\S+) \(--max-missing\): (.+)",
     r"\1 的问题没有存入应答，超过 --max-missing 的 \2：\3"),
    (r"(\S+): write a share such as (\S+) or (\S+), from 0 to 100%",
     r"\1：请写成比例，例如 \2 或 \3，在 0 到 100% 之间"),
)  # fmt: skip
"""English sentences as regular expressions, each with its Chinese."""
