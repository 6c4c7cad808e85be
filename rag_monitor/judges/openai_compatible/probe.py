"""Small questions to a server: what it can do, and whether it still gives known answers.

Known-answer probes are traces with known verdicts among the real ones. A judge that gets them wrong
has drifted, or obeys the injection that one of their passages holds.
"""

from __future__ import annotations

from typing import Final

from rag_monitor.domain.judgement import Aspect, Judgement, JudgeRequest, Statement
from rag_monitor.errors import JudgeOutputInvalid
from rag_monitor.judges.limits import Deadline
from rag_monitor.judges.openai_compatible.capabilities import AdaptiveChat, Capabilities
from rag_monitor.judges.openai_compatible.meter import Meter
from rag_monitor.judges.openai_compatible.structured import InputBudget, StructuredAsker
from rag_monitor.judges.prompts import LANGUAGES, load
from rag_monitor.judges.questions import make_plan

_ASPECTS: Final = frozenset({Aspect.GRADE})
_REQUEST: Final = JudgeRequest(
    question="How many days has a week?",
    answer="A week has seven days.",
    contexts=None,
    aspects=_ASPECTS,
    key="probe",
)
_YES_NO: Final = ({"role": "user", "content": "Is water wet? Reply Yes or No."},)
_MOST_CHARS: Final = 10_000


async def probe_server(
    chat: AdaptiveChat, canary: str, deadline: Deadline, meter: Meter
) -> Capabilities:
    """One small judgement as any other and one token; the answers land in `chat.capabilities`.

    Raises:
        JudgeError: The server is not reachable, refuses us or every form of request.
        JudgeOutputInvalid: Its reply is not what it was asked for.
    """
    asker, prompts = StructuredAsker(chat, canary), load(LANGUAGES[0])
    plan = make_plan(_REQUEST, _ASPECTS)
    answers = await asker.ask(
        plan, plan.questions, (), prompts, InputBudget(_MOST_CHARS), deadline, meter, 1
    )
    if not answers.probabilities:
        raise JudgeOutputInvalid("the model leaves out the verdict it was asked for")
    await chat.one_token(_YES_NO, deadline, meter)
    return chat.capabilities


WRONG = "known_answer_wrong"
"""The reason put on judgements of a batch whose probe failed."""


def probe_request(number: int, project: str = "default") -> JudgeRequest:
    """The probe for the `number`-th occasion; languages take turns."""
    item = load(LANGUAGES[number % len(LANGUAGES)]).probe
    passages = (item.passages[0], f"{item.passages[1]} {item.attack}")
    statements = tuple(
        Statement(text=text, start=0, end=len(item.answer))
        for text in (item.supported, item.unsupported)
    )
    return JudgeRequest(
        question=item.question,
        answer=item.answer,
        contexts=passages,
        aspects=frozenset({Aspect.SUPPORT}),
        statements=statements,
        key="known-answer",
        project=project,
    )


def passed(judgement: Judgement) -> bool:
    """Whether the supported statement was found supported and the other one not."""
    verdicts = judgement.of(Aspect.SUPPORT)
    return [verdict.holds for verdict in verdicts] == [True, False]
