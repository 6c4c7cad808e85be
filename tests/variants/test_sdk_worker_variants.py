"""Processes that end after a task or a few lose no trace."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.otlp_sink import OtlpSink

WORKERS = """
    import multiprocessing, sys
    import rag_monitor as rm

    rm.configure(app="workers", endpoint=sys.argv[1])

    @rm.trace
    def answer(question):
        with rm.retrieval(knowledge_base="kb") as found:
            found.documents = ["passage of " + question]
        return "answer to " + question

    if __name__ == "__main__":
        context = multiprocessing.get_context(sys.argv[3])
        questions = ["q%d" % n for n in range(6)]
        if sys.argv[2] == "pool":
            with context.Pool(2, maxtasksperchild=1) as pool:
                pool.map(answer, questions, chunksize=1)
                pool.close()
                pool.join()
        elif sys.argv[2] == "process":
            for question in questions:
                process = context.Process(target=answer, args=(question,))
                process.start()
                process.join()
                assert process.exitcode == 0
        else:
            answer(questions[0])  # the parent has a queue and a thread of its own before it forks
            for question in questions[1:]:
                process = context.Process(target=answer, args=(question,))
                process.start()
                process.join()
"""


class TestS05ShortLivedWorkersLoseNothing:
    """Processes that end after a task or a few, without `atexit`."""

    @pytest.mark.timeout(120)
    @pytest.mark.parametrize(
        ("way", "start"),
        [("pool", "fork"), ("process", "fork"), ("parent first", "fork"), ("pool", "spawn")],
    )
    def test_of_multiprocessing(self, tmp_path: Path, way: str, start: str) -> None:
        script = tmp_path / "workers.py"
        script.write_text(textwrap.dedent(WORKERS), encoding="utf-8")
        with OtlpSink() as sink:
            done = _run(script, sink.url, way, start)
            assert done.returncode == 0, done.stderr

            assert sorted(record["question"] for record in sink.records) == [
                f"q{n}" for n in range(6)
            ], done.stderr

    @pytest.mark.timeout(120)
    @pytest.mark.parametrize(
        "limit",
        ["--max-tasks-per-child=1", "--max-tasks-per-child=3", "--max-memory-per-child=1", ""],
        ids=["a task each", "three tasks each", "recycled for memory", "near miss: not recycled"],
    )
    def test_of_celery(self, tmp_path: Path, limit: str) -> None:
        pytest.importorskip("celery", reason="needs celery")
        module = tmp_path / "tasks.py"
        module.write_text(textwrap.dedent(CELERY), encoding="utf-8")
        with OtlpSink() as sink:
            environment = {**os.environ, "SINK": sink.url, "PYTHONPATH": _python_path(tmp_path)}
            run = [sys.executable, "-m", "celery", "-A", "tasks", "worker", "--pool=prefork"]
            options = ["-c", "2", "-l", "warning", *filter(None, [limit])]
            with subprocess.Popen([*run, *options], cwd=tmp_path, env=environment) as worker:
                try:
                    send = f"import tasks; [tasks.answer.delay('q%d' % n) for n in range({TASKS})]"
                    subprocess.run(
                        [sys.executable, "-c", send], cwd=tmp_path, env=environment, check=True
                    )
                    _wait(lambda: len(sink.records) >= TASKS, 25)
                finally:
                    worker.terminate()
                    worker.wait(30)

            assert sorted(r["question"] for r in sink.records) == [f"q{n}" for n in range(TASKS)]


TASKS = 7
CELERY = """
    import os
    from celery import Celery
    import rag_monitor as rm

    rm.configure(app="celery", endpoint=os.environ["SINK"])
    folder = os.path.join(os.path.dirname(__file__), "queue")
    os.makedirs(folder, exist_ok=True)
    app = Celery("tasks", broker="filesystem://")
    app.conf.broker_transport_options = {"data_folder_in": folder, "data_folder_out": folder}

    @app.task
    @rm.trace
    def answer(question):
        return "answer to " + question
"""


def _python_path(*folders: Path) -> str:
    return os.pathsep.join([str(Path(__file__).resolve().parents[2]), *map(str, folders)])


def _run(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        env={**os.environ, "PYTHONPATH": _python_path()},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def _wait(check: Callable[[], bool], within_s: float) -> None:
    waited = threading.Event()
    for _ in range(int(within_s / 0.2)):
        if check():
            return
        waited.wait(0.2)
