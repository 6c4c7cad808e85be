"""What every judge must do, ours and those from other packages."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from benchmarks.stub_server import Answer, Body, StubServer, completion, obliging
from rag_monitor.domain.judgement import (
    Aspect,
    JudgeIdentity,
    Judgement,
    JudgeRequest,
    KeyPoint,
    KeyPointSource,
)
from rag_monitor.judges.calibrated import NOT_CALIBRATED, CalibratedJudge, Calibration
from rag_monitor.judges.ensemble import EnsembleJudge
from rag_monitor.judges.judge import Judge
from rag_monitor.statistics.calibration import Platt
from rag_monitor.testing import ScriptedJudge
from tests.ray_cluster import HAS_RAY, NODE, WHY_NOT, cluster
from tests.unit.judges.requests import loan, warranty

Maker = Callable[[], AbstractAsyncContextManager[Judge]]
PER_PASSAGE = (Aspect.RELEVANCE, Aspect.USEFULNESS, Aspect.USE)


@asynccontextmanager
async def scripted() -> AsyncIterator[Judge]:
    yield ScriptedJudge()


@asynccontextmanager
async def ensemble() -> AsyncIterator[Judge]:
    yield EnsembleJudge([ScriptedJudge(dict.fromkeys(Aspect, 0.8)), ScriptedJudge(name="b")])


@asynccontextmanager
async def calibrated() -> AsyncIterator[Judge]:
    maps = dict.fromkeys(frozenset(Aspect) - NOT_CALIBRATED, Platt(0.7, -0.4))
    yield CalibratedJudge(ScriptedJudge(), Calibration(version="c1", maps=maps, threshold=0.4))


def _served(mode: str) -> Maker:
    @asynccontextmanager
    async def serve() -> AsyncIterator[Judge]:
        from rag_monitor.judges.openai_compatible import create

        async with StubServer(obliging) as server:
            judge = create(
                {"base_url": server.url, "model": "m", "verdicts": mode, "embedding_model": "e"}
            )
            yield judge
            await judge.close()

    return serve


@asynccontextmanager
async def packed() -> AsyncIterator[Judge]:
    from rag_monitor.judges.packed.loading import assemble
    from rag_monitor.judges.packed.options import PackedOptions
    from tests.unit.judges.tiny_models import make_model, make_tokenizer, trusting

    judge = assemble(PackedOptions(model="tiny"), trusting(make_model()), make_tokenizer())
    yield judge
    await judge.close()


@asynccontextmanager
async def embedded() -> AsyncIterator[Judge]:
    from rag_monitor.judges import registry  # type: ignore[attr-defined,unused-ignore]

    judge = registry.create("embedded", {})
    yield judge
    await judge.close()


@asynccontextmanager
async def detector() -> AsyncIterator[Judge]:
    from rag_monitor.judges import registry  # type: ignore[attr-defined,unused-ignore]
    from tests.unit.judges.detectors.onnx_files import nli_folder

    with TemporaryDirectory() as folder:
        model = str(nli_folder(Path(folder)))
        judge = registry.create("detector", {"model": model, "runtime": "onnx"})
        yield judge
        await judge.close()


MAKERS: dict[str, tuple[Maker, str]] = {
    "scripted": (scripted, "rag_monitor.testing"),
    "ensemble": (ensemble, "rag_monitor.judges.ensemble"),
    "calibrated": (calibrated, "rag_monitor.judges.calibrated"),
    "structured": (_served("structured"), "openai"),
    "logprobs": (_served("logprobs"), "openai"),
    "exact": (_served("exact"), "openai"),
    "packed": (packed, "transformers"),
    "embedded": (embedded, "rag_monitor.judges.registry"),
    "detector": (detector, "onnx"),
}


@pytest.fixture(scope="module")
def on_ray() -> Iterator[Judge]:
    """Made once: actors take seconds to begin. Gone before other tests kill nodes."""
    if not HAS_RAY:
        pytest.skip(WHY_NOT)
    from rag_monitor.judges.factory import make_judge

    node = cluster().add_node(**NODE)
    judge = make_judge("spread", {"spread": {"kind": "ray", "judge": "embedded"}})
    yield judge
    asyncio.run(judge.close())
    cluster().remove_node(node)


ON_RAY = pytest.param("ray", marks=[pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(400)])


@pytest.fixture(params=[*MAKERS, ON_RAY])
async def judge(request: pytest.FixtureRequest) -> AsyncIterator[Judge]:
    if request.param == "ray":
        yield request.getfixturevalue("on_ray")
        return
    maker, needs = MAKERS[request.param]
    if find_spec(needs) is None:
        pytest.skip(f"{needs} is not installed")
    async with maker() as made:
        yield made


def everything(judge: Judge) -> JudgeRequest:
    return warranty(aspects=judge.aspects)


async def test_it_keeps_to_the_protocol(judge: Judge) -> None:
    assert isinstance(judge, Judge)
    assert isinstance(judge.identity, JudgeIdentity)
    assert judge.identity.name
    assert judge.identity == judge.identity


async def test_every_aspect_asked_is_answered_or_missing_with_a_reason(judge: Judge) -> None:
    points = (KeyPoint(text="24 months", source=KeyPointSource.LABELLED),)

    judgement = await judge.judge(warranty(aspects=frozenset(Aspect), key_points=points))

    answered = {verdict.aspect for verdict in judgement.verdicts}
    assert answered | set(judgement.missing) == set(Aspect)
    assert all(reason for reason in judgement.missing.values())


async def test_nothing_is_answered_that_was_not_asked(judge: Judge) -> None:
    asked = frozenset({Aspect.RELEVANCE}) & judge.aspects

    judgement = await judge.judge(warranty(aspects=asked))

    assert {verdict.aspect for verdict in judgement.verdicts} <= asked


async def test_verdicts_are_probabilities_with_their_raw_value(judge: Judge) -> None:
    judgement = await judge.judge(everything(judge))

    assert judgement.verdicts
    for verdict in judgement.verdicts:
        low = -1.0 if verdict.aspect is Aspect.QUESTION_SIMILARITY else 0.0
        assert low <= verdict.probability <= 1.0 + 1e-9
        assert verdict.raw is not None
        assert math.isfinite(verdict.raw)


async def test_passages_have_one_verdict_each_in_order(judge: Judge) -> None:
    judgement = await judge.judge(everything(judge))

    for aspect in PER_PASSAGE:
        if aspect in judge.aspects and aspect not in judgement.missing:
            assert [verdict.index for verdict in judgement.of(aspect)] == [0, 1]


async def test_evidence_names_a_passage_that_exists(judge: Judge) -> None:
    judgement = await judge.judge(everything(judge))

    assert all(v.evidence is None or 0 <= v.evidence < 2 for v in judgement.verdicts)


async def test_several_traces_come_back_in_order_and_like_single_ones(judge: Judge) -> None:
    requests = [everything(judge), loan(aspects=judge.aspects), everything(judge)]

    together = await judge.judge_many(requests)
    alone = await judge.judge(requests[1])

    assert len(together) == 3
    middle = together[1]
    assert isinstance(middle, Judgement)
    assert [(v.aspect, v.index) for v in middle.verdicts] == [
        (v.aspect, v.index) for v in alone.verdicts
    ]
    assert middle.identity == judge.identity


async def test_no_traces_are_no_work(judge: Judge) -> None:
    assert list(await judge.judge_many([])) == []


async def test_hostile_text_neither_raises_nor_hangs(judge: Judge) -> None:
    hostile = "<|im_end|>{context}%s\x00\ud800" + "(" * 500 + '"}]' + "好" * 200

    (result,) = await judge.judge_many(
        [warranty(question=hostile, answer=hostile, contexts=(hostile, ""), aspects=judge.aspects)]
    )

    assert isinstance(result, Judgement)


async def test_a_scripted_reply_of_the_wrong_shape_is_a_failure_not_a_score() -> None:
    pytest.importorskip("openai")
    from rag_monitor.judges.openai_compatible import create

    def wrong(_path: str, _body: Body) -> Answer:
        return Answer(payload=completion(json.dumps({"score": 1.0})))

    async with StubServer(wrong) as server:
        judge = create({"base_url": server.url, "model": "m"})
        (result,) = await judge.judge_many([warranty()])
        await judge.close()

    assert isinstance(result, Exception)
