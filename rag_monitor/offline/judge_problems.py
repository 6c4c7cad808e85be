"""Forms of what judges, their servers and the reader of their replies say, and their Chinese.

Used by `problems`. What stands in angle brackets is said again by the same forms; a server's own
sentence stays as the server wrote it.
"""

from __future__ import annotations

from typing import Final

_SERVER: Final = (
    (r"(the .+|cannot .+|[^:]+); other requests are answered", r"<\1>；其他请求正常"),
    (r"the judge's server answered (\d+): it gave no reason",
     r"评审模型的服务器返回 \1，未说明原因"),
    (r"the judge's server answered (\d+) with an error inside: (.+)",
     r"评审模型的服务器返回 \1，但内容是错误：\2"),
    (r"the judge's server answered (\d+) with an error inside \((\d+)\): (.+)",
     r"评审模型的服务器返回 \1，但内容是错误 \2：\3"),
    (r"the judge's server answered (\d+): (.+)", r"评审模型的服务器返回 \1：\2"),
    (r"the judge's server answers with the model ('.*?'), not ('.*')",
     r"评审模型的服务器用模型 \1 作答，而配置的是 \2"),
    (r"the judge's server withholds its reply: (.+)", r"评审模型的服务器拦截了答复：\1"),
    (r"the model declines to judge: (.+)", r"模型拒绝评审：\1"),
    (r"cannot reach (\S+): no connection", r"无法连接 \1"),
    (r"cannot reach (\S+): (.+)", r"无法连接 \1：\2"),
    (r"the judge did not answer within (\S+) s", r"评审模型在 \1 秒内没有应答"),
    (r"[Tt]he judge did not answer within its deadline\.", "评审模型在时限内没有应答"),
    (r"no free slot for a call before the deadline", "时限之内没有空出的并发名额"),
    (r"the judge failed (\d+) times in a row; nothing is sent for another (\S+) s",
     r"评审模型连续失败 \1 次；\2 秒内不再发送请求"),
    (r"the quota of (\S+) is used up: (.+)", r"\1 的额度已用完：<\2>"),
    (r"(\S+) refuses everything: (.+)", r"\1 拒绝一切请求：<\2>"),
    (r"(\S+) judged none of the rows of (.+?): (.+)", r"\1 没能评审 \2 中的任何一行：<\3>"),
    (r"(\w+) must be above 0, not (\S+)", r"\1 必须大于 0，不能是 \2"),
    (r"(\w+) must be at least 1, not (\S+)", r"\1 至少为 1，不能是 \2"),
    (r"the openai_compatible judge needs the openai client: (pip .+)",
     r"openai_compatible 需要 openai 客户端：\1"),
    (r"The judging budget of this window is spent\.", "本时段的评审预算已用完"),
)  # fmt: skip

_REPLIES: Final = (
    (r"the reply is empty", "答复为空"),
    (r"the reply is longer than (\S+) (?:characters|bytes)", r"答复过长（超过 \1）"),
    (r"the reply repeats the nonce more than once: which is the reply\?",
     "答复中不止一处重复了编号，无法确定哪一处是答复"),
    (r"the reply belongs to another request: wrong nonce", "答复属于另一个请求：编号不符"),
    (r"the reply is not one JSON object: (.+)", r"答复不是一个 JSON 对象：\1"),
    (r"no JSON object of the reply repeats the nonce", "答复中没有重复编号的 JSON 对象"),
    (r"the reply holds no JSON object; it begins: (.+)", r"答复中没有 JSON 对象，开头为：\1"),
    (r"the reply has fields that were not asked for: (.+)", r"答复中有未要求的字段：\1"),
    (r"the reply was cut off before its end", "答复不完整，被截断"),
    (r"the response has no choices", "响应中没有 choices"),
    (r"the response is not a chat completion", "响应不是聊天补全"),
    (r"the response is not JSON but empty", "响应不是 JSON，而是空的"),
    (r"the response is not JSON but (.+)", r"响应不是 JSON，而是 \1"),
    (r"the response is not a JSON object", "响应不是 JSON 对象"),
    (r"the content of the reply is not text", "答复的内容不是文字"),
    (r"the model thought for all of the (\d+) tokens it was given and did not reply; turn .+",
     r"模型用完了 \1 个 token 仍在思考，没有作答；请关闭它的思考，或在 extra_body 中用 "
     r"max_completion_tokens 多给一些"),
    (r"even a cut trace does not fit into the model's context: (.+)",
     r"截短之后仍然超出模型的上下文：<\1>"),
    (r"([\w ]+) is not a number but (.+)", r"\1 不是数字，而是 \2"),
    (r"([\w ]+) is (\S+), outside 0 to 1", r"\1 为 \2，不在 0 到 1 之间"),
    (r"(\w+) is not an object", r"\1 不是对象"),
    (r"(\w+) is not a list of 1 to (\d+) (?:texts|entries)", r"\1 不是含 1 到 \2 项的列表"),
    (r"(\w+) holds something that is not a text", r"\1 中有不是文字的内容"),
    (r"an entry of (\w+) has other fields than asked for", r"\1 中有一项的字段与要求不符"),
    (r"the server left out the probability of a label", "服务端漏掉了一个标签的概率"),
    (r"the server's (?:label probabilities|logprobs) are none", "服务端给出的概率无效"),
    (r"the server gives no token ids", "服务端没有给出 token 编号"),
    (r"the server's scores (?:do not fit what was asked|are no numbers|are not finite)",
     "服务端给出的分数无效"),
    (r"the response holds no embeddings", "响应中没有向量"),
    (r"(\d+) embeddings for (\d+) texts", r"\2 段文字得到 \1 个向量"),
    (r"the reply is packed as ('.*?'), not as (\w+)", r"响应以 \1 压缩，而不是 \2"),
    (r"the reply is not (\w+) as it says", r"响应声称是 \1，实际不是"),
    (r"no list was asked for", "没有要求列表"),
    (r"the model leaves out the verdict it was asked for", "模型漏掉了所要求的结论"),
    (r"rests_on names a passage that does not exist", "rests_on 指向不存在的段落"),
    (r"(\d+) of (\d+) (\w+)", r"\3 只有 \1 项，应为 \2 项"),
)  # fmt: skip

FORMS: Final = (*_SERVER, *_REPLIES)
"""English sentences as regular expressions, each with its Chinese."""
