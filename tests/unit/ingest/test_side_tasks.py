"""A call that names the conversation or chooses the way, by what it is told in any language."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.ingest.evidence import span, trace_of

ASKED = "周末几点开门？"
SAID = "周末九点开门。"
BESIDE = "开门时间"
WEB = span(1, "POST /ask", {"http.request.method": "POST"}, kind=2, ms=(0, 200))
TASKS = [
    "为以下对话生成标题", "请根据对话内容起一个不超过10个字的标题", "给这个会话命名",
    "你是一个对话标题生成器", "用5个字以内概括对话主题", "生成一个会话名称",
    "总结以下对话",
    "用一句话概括这段对话", "请将上述聊天记录压缩成摘要", "请对历史对话做摘要", "归纳聊天内容",
    "下面是用户与助手的对话，请提炼主题词", "請總結以下對話", "標題：為以下對話產生標題",
    "请判断用户问题属于哪一类", "请识别用户的意图", "请选择最合适的知识库",
    "判断下面的内容是否安全",
    "请把用户的问题改写为独立的检索问题", "提取关键词", "生成假设性文档", "把下面的问题翻译成英文",
    "请生成三个用户可能继续追问的问题", "请给回答打分",
    "Generate a concise title summarizing the chat history.",
    "Summarize the following conversation",
    "Given the conversation and a follow up question, make it standalone",
    "Which tool should handle this? Choose one of", "Extract keywords from the query",
    "Determine whether the question needs retrieval", "Decompose the question into sub-questions",
    "Generate 3 different versions of the given user question",
    "Is the answer grounded in the facts? Answer yes or no.",
    "You are a grader. Decide whether the response is supported by the passages.",
    "Is this document relevant to the question?",
    "Check if each claim is consistent with the source.",
    "Extract any part of the context that helps, as it is.",
    "请检查下面的回答是否有依据，只输出“是”或“否”。", "評估答案有沒有幻覺",
    "从下面的资料中摘录与问题相关的片段",
    "Given the question, extract any part of the context that is relevant to answer the question.",
    "Generate 1-3 broad tags for the main themes of the chat history",
]  # fmt: skip
ANSWERING = [
    "你是一个客服助手，请根据以下资料回答用户的问题。",
    "请结合历史对话和参考资料回答问题",
    "请用简洁的标题和要点组织回答",
    "根据检索到的文档生成回答，并在末尾列出参考资料的标题",
    "你是智能助手，能够理解用户意图并给出帮助",
    "Use the following pieces of context to answer the question at the end.",
    "Answer the question. If the answer is not supported by the context, say so.",
    "Answer from the context, and check that your answer is supported by it.",
    "Extract the answer from the context and give it in one sentence.",
    "Answer the question from the context. Check that the answer is supported by the context.",
    "First extract the relevant sentences from the documents, then answer the question.",
    "Verify that each claim is supported by the passages, and answer in the user's language.",
    "请从资料中提取与问题相关的内容，回答用户的问题。",
    "请根据资料准确回答用户的问题，并检查答案是否有资料支持。",
    "根据资料，回答用户的问题；输出前检查回答是否有依据。",
    "请先检查资料是否包含答案，没有就说不知道。",
    "请确认资料足以支持，再给出准确的回答。",
    "Answer in the same language as the question. Cite the title of each document.",
]


def _messages(*messages: tuple[str, str]) -> str:
    return json.dumps([{"role": role, "content": text} for role, text in messages])


def _call(asked: str, said: str, system: str) -> dict[str, object]:
    found: dict[str, object] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    found["gen_ai.input.messages"] = _messages(("system", system), ("user", asked))
    found["gen_ai.output.messages"] = _messages(("assistant", said))
    return found


def _vercel(number: int, asked: str, said: str, system: str, ms: tuple[float, float]) -> list[Any]:
    """The two spans of one call that has no name."""
    outer = {"ai.operationId": "ai.generateText", "ai.response.text": said}
    outer["ai.prompt"] = json.dumps({"system": system, "prompt": asked})
    inner = {"ai.operationId": "ai.generateText.doGenerate", "ai.response.text": said}
    inner["ai.prompt.messages"] = _messages(("system", system), ("user", asked))
    return [
        span(number, "ai.generateText", outer, parent=1, ms=ms),
        span(number + 1, "ai.generateText.doGenerate", inner, parent=number, ms=ms),
    ]


@pytest.mark.parametrize("ms", [(5, 15), (120, 190)], ids=["before", "after"])
@pytest.mark.parametrize("task", TASKS)
class TestBesideTheAnswer:
    """Whether the instructions are the system's or stand before the user's words."""

    def test_as_instructions(self, task: str, ms: tuple[float, float]) -> None:
        answering = span(2, "chat m", _call(ASKED, SAID, "请回答。"), parent=1, ms=(20, 110))
        aside = span(3, "chat m", _call(ASKED, BESIDE, task), parent=1, ms=ms)

        trace = trace_of(WEB, answering, aside)

        assert (trace.question, trace.answer) == (ASKED, SAID)

    def test_in_the_users_name(self, task: str, ms: tuple[float, float]) -> None:
        given = f"{task}\n用户：{ASKED}\n助手：{SAID}"
        answering = span(2, "chat m", _call(ASKED, SAID, "请回答。"), parent=1, ms=(20, 110))
        aside = span(3, "chat m", _call(given, BESIDE, "你是一个助手。"), parent=1, ms=ms)

        trace = trace_of(WEB, answering, aside)

        assert (trace.question, trace.answer) == (ASKED, SAID)

    @pytest.mark.parametrize("inner", [True, False])
    def test_of_the_vercel_ai_sdk(self, task: str, ms: tuple[float, float], inner: bool) -> None:
        answering = _vercel(2, ASKED, SAID, "请回答。", (20, 110))
        aside = _vercel(4, ASKED, BESIDE, task, ms)

        trace = trace_of(WEB, *answering, *(aside if inner else aside[:1]))

        assert (trace.question, trace.answer) == (ASKED, SAID)


@pytest.mark.parametrize("instructions", ANSWERING)
def test_instructions_to_answer_are_no_such_task(instructions: str) -> None:
    draft = span(2, "chat m", _call(ASKED, "草稿", "你是一个助手。"), parent=1, ms=(5, 15))
    answering = span(3, "chat m", _call(ASKED, SAID, instructions), parent=1, ms=(20, 110))

    assert trace_of(WEB, draft, answering).answer == SAID


def test_a_summary_that_nothing_stands_beside_is_the_answer() -> None:
    only = span(2, "chat m", _call("总结以下对话：甲：你好", SAID, ""), parent=1, ms=(5, 15))

    assert trace_of(WEB, only).answer == SAID


@pytest.mark.parametrize(
    "name", ["生成标题", "產生標題", "意图识别", "意圖識別", "内容审核", "內容審核"]
)
def test_a_call_is_known_by_its_name_in_either_script(name: str) -> None:
    answering = span(2, "chat m", _call(ASKED, SAID, "请回答。"), parent=1, ms=(20, 110))
    aside = span(3, name, _call(ASKED, BESIDE, "你是一个助手。"), parent=1, ms=(120, 190))

    assert trace_of(WEB, answering, aside).answer == SAID
