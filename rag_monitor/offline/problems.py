"""What is wrong with a row, a file of rows or what was asked of them, in the reader's language.

Readers, checks and the monitor's interface say it in English. The Chinese goes by the form of the
English sentence, part by part: a row's place, a reason, a reason inside it. A sentence of another
form stays English; a test holds every sentence of the readers against these forms.
"""

from __future__ import annotations

import re
from typing import Final

from rag_monitor.offline import (
    detector_problems,
    judge_problems,
    row_problems,
    setup_problems,
)

_DID: Final = r" \(did you mean ('.*?')\?\)"

_FORMS: Final = tuple(
    (re.compile(english, re.DOTALL), chinese)
    for english, chinese in (
        *detector_problems.FORMS,
        *setup_problems.FORMS,
        *row_problems.FORMS,
        *judge_problems.FORMS,
        # Places. What is in angle brackets is said again.
        (r"row (\d+): (.+)", r"第 \1 行数据：<\2>"),
        (r"line (\d+): (.+)", r"第 \1 行：<\2>"),
        (r"row (\d+) and after: (.+)", r"第 \1 行数据及之后：<\2>"),
        (r"line (\d+) and after: (.+)", r"第 \1 行及之后：<\2>"),
        (r"not stored: (.+)", r"未存入：<\1>"),
        (
            r"no monitor answers at (\S+) \((.+)\); start one with `rag-monitor serve` or name "
            r"another with --url",
            r"\1 没有监控服务应答（\2）；请用 `rag-monitor serve` 启动，或用 --url 指定其他地址",
        ),
        (
            r"the monitor refused the key: (.+); set --api-key or RAG_MONITOR_API_KEY",
            r"监控服务拒绝了密钥：<\1>；请设置 --api-key 或 RAG_MONITOR_API_KEY",
        ),
        (r"The key is not valid: nobody has it here\.", "密钥无效：这里没有这个密钥"),
        (r"The key is not valid: it was revoked\.", "密钥无效：已被吊销"),
        (
            r"The key is not valid: it has expired\. Make another one with `rag-monitor keys "
            r"create`\.",
            "密钥无效：已过期；请用 `rag-monitor keys create` 另建一个",
        ),
        (r"This server needs a key: .+", "本服务需要密钥"),
        (
            r"`(app|release|judge|knowledge_base)`: nothing stored here has \w+ ('.*?')\. "
            r"Did you mean ('.*')\?",
            r"`\1`：已存的数据中没有 \2，是否想用 \3？",
        ),
        (
            r"`(app|release|judge|knowledge_base)`: nothing stored here has \w+ ('.*?')\. "
            r"There (?:are|is only) (.+)\.",
            r"`\1`：已存的数据中没有 \2；现有：\3",
        ),
        (
            r"`(app|release|judge|knowledge_base)`: nothing stored here has \w+ ('.*')\.",
            r"`\1`：已存的数据中没有 \2",
        ),
        (
            r"`(\w+)`: there is no \w+ ('.*?')\. Did you mean ('.*')\?",
            r"`\1`：没有 \2，是否想用 \3？",
        ),
        (r"`(\w+)`: there is no \w+ ('.*')\.", r"`\1`：没有 \2"),
        (
            r"say what to silence: --rule, --app or both; --rule '\*' silences everything",
            "请说明静默什么：--rule、--app 或两者；--rule '*' 静默全部",
        ),
        (
            r"app: no stored trace is of an application called ('.*?')(?: \(did you mean "
            r"('.*?')\?\))?; the rule finds nothing until one comes",
            r"app：已存的请求中没有名为 \1 的应用；出现之前该规则不会有任何发现",
        ),
        (
            r"`(\w+)`: Input should be ('.+')\. See /docs for what is expected\.",
            r"`\1`：应为 \2",
        ),
        (
            r"say how long, either --for 2h or --to (\S+)",
            r"请说明多久：--for 2h 或 --to \1，二者选一",
        ),
        (
            r"--for (.+): write a length such as 90m, 4h, 2d or 1w",
            r"--for \1：请写时长，例如 90m、4h、2d 或 1w",
        ),
        (
            r"--expires (.+): write a length such as 12h, 90d or 52w, or a time with its zone, "
            r"such as (\S+)",
            r"--expires \1：请写时长，例如 12h、90d 或 52w，或写带时区的时间，例如 \2",
        ),
        (r"--for (.+): a silence lasts at most 366 days", r"--for \1：静默最长 366 天"),
        (
            r"--from (.+): write a time with its zone, such as (\S+)",
            r"--from \1：请写带时区的时间，例如 \2",
        ),
        (r"project ('.*?') has no key ('.*')", r"项目 \1 中没有密钥 \2"),
        (r"(.+) cannot be written: (.+)", r"\1 无法写入：\2"),
        (
            r"--output writes \.jsonl or \.parquet, not (.*)",
            r"--output 只能写 .jsonl 或 .parquet，不能写 \1",
        ),
        (r"--families goes with --injection", "--families 须与 --injection 一起使用"),
        (
            r"cannot listen on (\S+) \((.+)\); stop what uses the port, or choose another with "
            r"--port",
            r"无法监听 \1（\2）；请停止占用该端口的程序，或用 --port 另选一个",
        ),
        (
            r"the database has no tables yet, this release needs (\w+); run `rag-monitor migrate`",
            r"数据库还没有表，本版本需要 \1；请运行 `rag-monitor migrate`",
        ),
        (
            r"the database is at revision (\w+), this release needs (\w+); run "
            r"`rag-monitor migrate`",
            r"数据库结构的版本为 \1，本版本需要 \2；请运行 `rag-monitor migrate`",
        ),
        (
            r"there is no revision ('.*?')(?: \(did you mean ('.*?')\?\))?; this release "
            r"knows (.+)",
            r"没有版本 \1；本版本认识的有：\3",
        ),
        (
            r"--notify (.+?): there is no such channel(?: \(did you mean ('.*?')\?\))?; "
            r"configured: (.*)",
            r"--notify \1：没有这个渠道；已配置：\3",
        ),
        (r"project ('.*?') has no alert ('.*')", r"项目 \1 中没有告警 \2"),
        (r"project ('.*?') has no silence ('.*')", r"项目 \1 中没有静默 \2"),
        (
            r"`ends_at`: must be in the future; it is (\S+) now\. Look at the year and the "
            r"time zone\.",
            r"`ends_at`：必须晚于现在（\1）；请检查年份和时区",
        ),
        (r"`ends_at`: must be later than `starts_at`\.", "`ends_at`：必须晚于 `starts_at`"),
        (
            r"`ends_at`: at most (\d+) days; disable the rule instead\.",
            r"`ends_at`：最长 \1 天；更久请停用该规则",
        ),
        (
            r"`(\w+)`: must be a time such as (\S+)\. See /docs for what is expected\.",
            r"`\1`：请写带时区的时间，例如 \2",
        ),
        (
            r"the monitor answered (\d+): (.+); asked (\d+) times in (\d+) s(?:; .+)?",
            r"监控服务答复 \1：<\2>；\4 秒内已请求 \3 次",
        ),
        (r"the monitor answered (\d+): (.+)", r"监控服务答复 \1：<\2>"),
        # A field.
        (
            r"`(\S+)` must be a number above -1e308 and below 1e308, not (.+)",
            r"`\1` 须为数字（绝对值小于 1e308），不能是 \2",
        ),
        (
            r"`(\S+)` must be a number of at least (\S+) and below 1e308, not (.+)",
            r"`\1` 须为不小于 \2 的数字，不能是 \3",
        ),
        (
            r"`(\S+)` must be a whole number of at least (\d+) and below 2\^63, not (.+)",
            r"`\1` 须为不小于 \2 且小于 2^63 的整数，不能是 \3",
        ),
        (r"`(\S+)` must be true or false, not (.+)", r"`\1` 须为 true 或 false，不能是 \2"),
        (r"`(\S+)` must be an object, not (.+)", r"`\1` 须为对象，不能是 \2"),
        (r"`(\S+)` must be a list, not (.+)", r"`\1` 须为列表，不能是 \2"),
        (r"`(\S+)` must be a list of strings, not (.+)", r"`\1` 须为字符串列表，不能是 \2"),
        (r"`(\S+)` must be a string, not (.+)", r"`\1` 须为字符串，不能是 \2"),
        (r"`(\S+)` must be a name, not (.+)", r"`\1` 须为名称，不能是 \2"),
        (
            r"`(\S+)` must be a list of ids or an object of id and grade, not (.+)",
            r"`\1` 须为编号列表，或由编号和等级组成的对象，不能是 \2",
        ),
        (
            r"`(\S+)` must be an ISO 8601 time, e\.g\. (\S+), not (.+)",
            r"`\1` 须为 ISO 8601 时间，例如 \2，不能是 \3",
        ),
        (r"`(\S+)` must be one of (.+), not (.+)", r"`\1` 须为以下之一：\2；不能是 \3"),
        (
            r"`(\S+)` must be a string or an object with `content`",
            r"`\1` 须为字符串，或带有 `content` 的对象",
        ),
        (
            r"`(\S+)` must be an object with `kind` and `name`",
            r"`\1` 须为带有 `kind` 和 `name` 的对象",
        ),
        (r"`(\S+)` must be an object", r"`\1` 须为对象"),
        (r"`(\S+)` must be a string", r"`\1` 须为字符串"),
        (r"`(\S+)` must be a list of 0 and 1", r"`\1` 须为由 0 和 1 组成的列表"),
        (
            r"`(\S+)` is no kind of hit \(did you mean ('.*?')\?\); there are (.+)",
            r"`\1` 不是命中的类型（是否想用 \2？）；可用：\3",
        ),
        (r"`(\S+)` is no kind of hit; there are (.+)", r"`\1` 不是命中的类型；可用：\2"),
        # A row.
        (r"a trace is a JSON object, e\.g\. (.+)", r"一条请求是一个 JSON 对象，例如 \1"),
        (
            r"a trace is a JSON object with `question` and `answer`",
            r"一条请求是一个带有 `question` 和 `answer` 的 JSON 对象",
        ),
        (
            r"a trace needs a `question` and an `answer` \(null where they are withheld\); "
            r"this one has (.+)",
            r"一条请求须有 `question` 和 `answer`（不便提供时为 null）；这一条有 <\1>",
        ),
        (r"(`.+`) and (\d+) more", r"\1 及另外 \2 个"),
        (r"no field", "没有任何字段"),
        (r"not a JSON object", "不是 JSON 对象"),
        (r"not (?:valid )?JSON: (.+)", r"不是有效的 JSON：\1"),
        (r"cannot be sent as JSON: (.+)", r"无法作为 JSON 发送：\1"),
        (r"not UTF-8 \(byte (\d+)\)", r"不是 UTF-8（第 \1 字节）"),
        (r"more cells than the header has columns", "单元格多于表头的列数"),
        (
            r"a quotation mark opens here and is never closed: the rest of the file is in this row "
            r"\(lines: (\d+)\)",
            r"此处的引号没有闭合：文件余下的部分都进了这一行（共 \1 个文本行）",
        ),
        (r"no question", "没有问题"),
        (
            r"`(\S+)` looks like a list of Python or NumPy that cannot be read \((.+)\); write the "
            r"column as JSON",
            r"`\1` 看起来是 Python 或 NumPy 写出的列表，但无法读取（<\2>）；请把该列写成 JSON",
        ),
        (r"not a list or an object(?: of texts and numbers)?", "不是列表或对象"),
        (r"longer than (\S+) characters", r"超过 \1 个字符"),
        (r"nested too deeply", "嵌套过深"),
        (r"not a trace", "不是一条请求"),
        # A body, as the interface refuses it.
        (
            r"the JSON is not UTF-8 \(byte (\d+)\); encode the body as UTF-8",
            r"JSON 不是 UTF-8（第 \1 字节）；请以 UTF-8 编码",
        ),
        (
            r"a JSON object names the key (.+) twice; name each key once",
            r"一个 JSON 对象中键 \1 出现了两次；每个键只写一次",
        ),
        (
            r"an integer does not fit 64 bits; send large numbers as strings",
            "整数超出 64 位；大数请写成字符串",
        ),
        (
            r"a number is too large for a double; send a smaller one",
            "数字超出双精度范围；请给一个较小的",
        ),
        (
            r"(\S+) is not JSON; send null or leave the field out",
            r"\1 不是 JSON；请写 null，或省去该字段",
        ),
        (r"the JSON is nested too deeply; flatten it", "JSON 嵌套过深；请减少层次"),
        (
            r"the JSON is nested deeper than (\d+) levels; flatten it",
            r"JSON 嵌套超过 \1 层；请减少层次",
        ),
        (
            r"the JSON has more than (\d+) object keys; send fewer items per request",
            r"JSON 的键多于 \1 个；请减少每次发送的数量",
        ),
        (
            r"the body is larger than (\d+) bytes; send fewer rows, or raise (\S+) of the server",
            r"请求体大于 \1 字节；请减少每次发送的行数，或调大服务器的 \2",
        ),
        (
            r"the body holds no trace; send an object, a list or JSON lines",
            "请求体中没有请求；请发送一个对象、一个列表或 JSON 行",
        ),
        (r"(\d+) rows in one request; send at most (\d+)", r"一次发送了 \1 行；最多 \2 行"),
        # A file.
        (r"there is no file (.+)", r"没有文件 \1"),
        (r"cannot read (.+) as Parquet: (.+)", r"\1 无法作为 Parquet 读取：\2"),
        (r"cannot read (.+?): (.+)", r"无法读取 \1：\2"),
        (
            r"(.+): unknown kind of file; known are (.+) \(also \.gz\), (\S+), (\S+) and a saved "
            r"data set folder",
            r"\1：无法识别的文件类型；支持 \2（也可为 .gz）、\3、\4 和保存数据集的文件夹",
        ),
        (r"(.+) holds no \.arrow file: not a saved data set", r"\1 中没有 .arrow 文件，不是数据集"),
        (
            r"(.+) is not UTF-8; it looks like (\S+): save it as UTF-8 \(Excel: \"CSV UTF-8\"\), "
            r"or convert it with (.+)",
            r"\1 不是 UTF-8，看起来是 \2：请另存为 UTF-8（Excel 中选“CSV UTF-8”），或用 \3 转换",
        ),
        (
            r"(.+) is not UTF-8: save it as UTF-8 \(Excel: \"CSV UTF-8\"\)",
            r"\1 不是 UTF-8：请另存为 UTF-8（Excel 中选“CSV UTF-8”）",
        ),
        (r"(.+) is not valid JSON: (.+)", r"\1 不是有效的 JSON：\2"),
        (
            r"(Parquet files|Excel files|saved data sets) need (\S+): (.+)",
            r"读取该文件需要 \2：\3",
        ),
        (r"(.+) is the input; write to another file", r"\1 是输入文件；请写到另一个文件"),
        (r"(.+) is a folder; name a file in it", r"\1 是文件夹；请指定其中的文件"),
        (
            r"none of the (\d+) rows of (.+) could be read",
            r"\2 的 \1 行数据都无法读取",
        ),
        (r"(.+) has no rows", r"\1 中没有数据行"),
        (r"no row can be evaluated; (.+)", r"没有一行可以评测；<\1>"),
        (r"none of the (\d+) rows could be evaluated", r"\1 行数据都无法评测"),
        (
            r"left out because they cannot be read: (\d+) of (\d+) rows",
            r"因无法读取而略去：\2 行中的 \1 行",
        ),
        (
            r"(.+) needs rows with label_faithful 0 and rows with label_faithful 1, or with "
            r"people's marks on faithfulness of both kinds; --columns says what a file calls them",
            r"\1 须同时有 label_faithful 为 0 和为 1 的行，或两类都有的忠实度人工标记；"
            r"列名不同时用 --columns 指定",
        ),
        (r"(.+) judged none of the rows of (.+)", r"\1 没能评审 \2 中的任何一行"),
        (r"(.+) holds no questions", r"\1 中没有问题"),
        # What was asked.
        (
            r"a calibration needs (\d+) labelled rows that can be judged; there are (\d+)",
            r"校准需要 \1 条可评审的带标注的行；现有 \2 条",
        ),
        (
            r"a calibration needs (\d+) faithful and (\d+) unfaithful rows; there are (\d+) and "
            r"(\d+)",
            r"校准需要 \1 条忠实和 \2 条不忠实的行；现有 \3 条和 \4 条",
        ),
        (
            r"there is nothing to compute: the rows carry no reference and no labels, and there is "
            r"no judge; name one with --judge",
            "没有可计算的指标：各行既没有参考答案也没有标注，又没有评审模型；请用 --judge 指定一个",
        ),
        (
            r"(.+), line (\d+) is row (.+), but the input has .+ there: "
            r"--resume goes on with the same input only",
            r"\1 第 \2 行是 \3，与输入中该处的行不一致：--resume 只能接着同一份输入继续",
        ),
        (
            r"(.+), line (\d+): row (.+) of the input is not what was scored; --resume goes on "
            r"with the same input only: write another file",
            r"\1 第 \2 行：输入中的行 \3 与评分时不同；--resume 只能接着同一份输入继续，"
            r"请写到另一个文件",
        ),
        (
            r"(.+?): nobody answers at (\S+) \((.+)\); is the application running\?",
            r"\1：\2 无应答（\3）；应用在运行吗？",
        ),
        (r"(.+?): the connection to (\S+) broke off \((.+)\)", r"\1：与 \2 的连接中断（\3）"),
        (r"(.+?): no answer within (\S+) s", r"\1：\2 秒内没有应答"),
        (
            r"A was judged by (.+) and B by (.+): what differs may be the judges",
            r"A 由 \1 评审，B 由 \2 评审：差异可能来自评审模型",
        ),
        (
            r"no judge named ('.*?') \(did you mean ('.*?')\?\); choose one of: (.+)",
            r"没有评审模型 \1（是否想用 \2？）；可用：\3",
        ),
        (r"no judge named ('.*?'); choose one of: (.+)", r"没有评审模型 \1；可用：\2"),
        (
            r"(.+), line (\d+) was judged by (.+), and the judge is (.+) now; go on with the same "
            r"judge, prompts and calibration, or write another file",
            r"\1 第 \2 行由 \3 评审，而现在的评审模型是 \4：请用相同的评审模型、提示词和校准继续，"
            r"或写到另一个文件",
        ),
        (
            r"(.+), line (\d+) was computed with (.+), and the settings are (.+) now; go on with "
            r"the same ones, or write another file",
            r"\1 第 \2 行用 \3 算出，而现在的设置是 \4：请用相同的设置继续，或写到另一个文件",
        ),
        (
            r"A was computed with (.+) and B with (.+): what differs may be the settings",
            r"A 用 \1 算出，B 用 \2 算出：差异可能来自设置",
        ),
        (
            r"(.+) was written with other metrics; name the same ones with --metrics, or write "
            r"another file",
            r"\1 是用其他指标写成的；请用 --metrics 指定相同的指标，或写到另一个文件",
        ),
        (r"(\S+) needs a judge: name one with --judge", r"\1 需要评审模型：请用 --judge 指定一个"),
        (
            r"(\S+) blends in semantic similarity: add --bertscore-model, or --similarity-weight 0 "
            r"to judge statements alone",
            r"\1 会计入语义相似度：请加上 --bertscore-model，或用 --similarity-weight 0 只评审陈述",
        ),
        (
            r"(\S+) needs an encoder: add --bertscore-model (\S+)",
            r"\1 需要编码器：请加上 --bertscore-model \2",
        ),
        (
            r"(\S+) needs a language model: add --perplexity-model (\S+)",
            r"\1 需要语言模型：请加上 --perplexity-model \2",
        ),
        (r"(\S+) needs (\S+): (.+)", r"\1 需要 \2：\3"),
        (
            r"the JSON begins with a byte order mark; leave it out",
            "JSON 以字节顺序标记（BOM）开头，请去掉它",
        ),
        (
            r"there is no metric ('.*?') \(did you mean ('.*?')\?\); there are (.+)",
            r"没有指标 \1（是否想用 \2？）；可用：\3",
        ),
        (r"there is no metric ('.*?'); there are (.+)", r"没有指标 \1；可用：\2"),
        (
            r"target profile (.+): there is no metric ('.*?') \(did you mean ('.*?')\?\)",
            r"目标 \1：没有指标 \2（是否想用 \3？）",
        ),
        (r"target profile (.+): there is no metric ('.*?')", r"目标 \1：没有指标 \2"),
        (r"--(output|report) writes (.+) files, not (.+)", r"--\1 可写 \2 文件，不能是 \3"),
        (r"--language is (.+), not (.+)", r"--language 须为 \1，不能是 \2"),
        (r"(.+): there is no folder (.+)", r"\1：没有文件夹 \2"),
        (r"--resume can go on with (.+) files only", r"--resume 只能接着 \1 文件继续"),
        (
            r"--resume needs --output: the file to go on with",
            "--resume 需要 --output：接着哪个文件继续？",
        ),
        (
            r"--fail-under needs --targets: what should not be missed\?",
            "--fail-under 需要 --targets：以什么为目标？",
        ),
        (
            r"(.+) is not a file that `evaluate --output` wrote",
            r"\1 不是 `evaluate --output` 写出的文件",
        ),
        (r"(.+) and (.+) have no row id in common", r"\1 与 \2 没有相同的行编号"),
        (r"(.+) and (.+) have no scored metric in common", r"\1 与 \2 没有都已评分的指标"),
        (r"(.+), line (\d+): (.+)", r"\1 第 \2 行：<\3>"),
        (r"target missed: (\S+) (\S+), wanted (.+)", r"未达标：\1 为 \2，目标 \3"),
        (r"targets not measured: (.+)", r"未能测量的目标：\1"),
        (
            rf"no target profile ('.*?'){_DID}; shipped: (.+)\. A path to your own must end in .+",
            r"没有目标配置 \1（是否想用 \2？）；自带的有：\3。自己的文件须以 .toml 结尾",
        ),
        (
            r"no target profile ('.*?'); shipped: (.+)\. A path to your own must end in \.toml",
            r"没有目标配置 \1；自带的有：\2。自己的文件须以 .toml 结尾",
        ),
        (
            r"--columns ('.*?'): write it as theirs=ours, e\.g\. (.+)",
            r"--columns \1：请写成 文件中的列名=这里的列名，例如 \2",
        ),
        (
            r"--judge names the teacher; the embedded judge is the student",
            "--judge 指定的是教师；内置评审模型是学生",
        ),
        (
            r"--lexical teaches a student without an encoder; leave out one of both",
            "--lexical 训练的是不带编码器的学生；两个选项请去掉一个",
        ),
    )
)
_INNER: Final = re.compile(r"<(.+)>", re.DOTALL)
_MARKS: Final = str.maketrans({"<": "\ue000", ">": "\ue001"})
_BACK: Final = str.maketrans({"\ue000": "<", "\ue001": ">"})


def problem(text: str, language: str) -> str:
    """The sentence in the language; what has no form there stays English."""
    if language != "zh":
        return text
    # Brackets of the text itself must not be taken for ours.
    return _chinese(text.translate(_MARKS)).translate(_BACK)


def _chinese(text: str) -> str:
    for english, chinese in _FORMS:
        if found := english.fullmatch(text):
            said = found.expand(chinese)
            return _INNER.sub(lambda inner: _chinese(inner.group(1)), said)
    return text
