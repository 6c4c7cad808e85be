"""What is known of the runs LangChain has started and not ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any, Final
from uuid import UUID

from rag_monitor.sdk.events import EventTrace, OpenStep
from rag_monitor_langchain.shapes import is_graph_signal, message_text

MAX_RUNS: Final = 20_000
"""Runs kept while they are open; beyond it the oldest trace is closed as abandoned."""


@dataclass(slots=True, eq=False)
class Generation:
    """One model call: what it said and when it began to."""

    first_token_ns: int | None = None
    text: str = ""
    parts: list[str] = field(default_factory=list)
    open: bool = True

    def token(self, token: object, chunk: Any) -> None:
        """Take one streamed piece; a piece without text (a tool call) is none."""
        message = getattr(chunk, "message", None)
        text = message_text(message) if message is not None else token
        if not isinstance(text, str) or not text:
            return
        if self.first_token_ns is None:
            self.first_token_ns = perf_counter_ns()
        self.parts.append(text)

    def wrote(self, answer: str | None) -> bool:
        """Whether it knows the answer best: nobody gave one, or only the start of what it says."""
        return answer is None or (self.open and "".join(self.parts).startswith(answer))


@dataclass(slots=True, eq=False)
class Root:
    """The run the user started, and what its inner runs told so far."""

    trace: EventTrace
    fallback_question: str | None = None
    """A retriever's query or a prompt's last human message."""
    generations: list[Generation] = field(default_factory=list)
    run_id: UUID | None = None
    """The run that ends the trace."""
    inner: set[UUID] = field(default_factory=set)
    """Runs that are open, to be closed with the root."""

    def answering(self, answer: str | None) -> Generation | None:
        """The model call that wrote the answer: the last one whose text is in it, else the last.

        A model that rewrites the question streams too; its tokens are not the answer's.
        """
        speaking = [g for g in self.generations if g.text or g.parts]
        if answer:
            for generation in reversed(speaking):
                text = generation.text.strip()
                if text and (text in answer or answer.strip() in text):
                    return generation
        return speaking[-1] if speaking else None

    def end(self, answer: str | None, error: BaseException | None = None) -> None:
        """Close the trace with what the root gave, else with what the model said."""
        chosen = self.answering(answer)
        first_byte = chosen.first_token_ns if chosen is not None else None
        status = None
        if chosen is not None and chosen.wrote(answer):
            # what LangChain gives of a stream that was left lacks the piece read last
            answer = chosen.text or "".join(chosen.parts)
            if error is None and chosen.open and first_byte is not None:
                status = "abandoned"
        self.trace.ask(self.fallback_question)
        self.trace.end(answer, error=error, status=status, first_byte_ns=first_byte)


@dataclass(slots=True, eq=False)
class Run:
    """One run LangChain has started and not ended."""

    root: Root
    step: OpenStep[Any] | None = None
    generation: Generation | None = None
    inside_retriever: bool = False


class Runs:
    """All open runs of one handler. Safe to use from many threads."""

    def __init__(self) -> None:
        self._runs: dict[UUID, Run] = {}

    def __len__(self) -> int:
        return len(self._runs)

    def get(self, run_id: UUID | None) -> Run | None:
        """The open run of that id; None for one we did not see start."""
        return None if run_id is None else self._runs.get(run_id)

    def start(self, run_id: UUID, run: Run) -> Run:
        """List a run; the first run of a root is the one that ends it."""
        if len(self._runs) >= MAX_RUNS:
            self._drop_oldest()
        self._runs[run_id] = run
        run.root.inner.add(run_id)
        return run

    def close(self, run_id: UUID, error: BaseException | None = None) -> Run | None:
        """Forget a run and end its step."""
        run = self._runs.pop(run_id, None)
        if run is not None:
            run.root.inner.discard(run_id)
            if run.step is not None:
                run.step.close(None if is_graph_signal(error) else error)
        return run

    def finish(self, root: Root, answer: str | None, error: BaseException | None = None) -> None:
        """End a trace, and before it whatever of it is still open.

        LangChain tells a step nothing of a cancellation: what ended the trace ended the step, too.
        That a reader left is no failure of the step that he was reading.
        """
        if is_graph_signal(error):
            error = None
        cause = None if isinstance(error, GeneratorExit) else error
        for run_id in list(root.inner):
            self.close(run_id, cause)
        root.end(answer, error)

    def _drop_oldest(self) -> None:
        oldest = next(iter(list(self._runs.values())), None)
        if oldest is not None:
            for run_id in list(oldest.root.inner):
                self.close(run_id)
            oldest.root.trace.end(status="abandoned")
