"""Packed verdicts are the verdicts separate prompts would give."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from rag_monitor.errors import ConfigurationError, JudgeUnavailable
from rag_monitor.judges.packed.engine import PackedEngine, Tree, check_attention, pack, share
from tests.unit.judges.tiny_models import FAMILIES, make_model

VOCABULARY = 512


def random_tree(draw: random.Random) -> Tree:
    def ids(count: int) -> tuple[int, ...]:
        return tuple(draw.randrange(VOCABULARY) for _ in range(count))

    branches = tuple(ids(draw.randint(1, 20)) for _ in range(draw.randint(1, 12)))
    return Tree(ids(draw.randint(1, 120)), branches)


def largest_difference(engine: PackedEngine, trees: list[Tree]) -> float:
    return max(
        abs(share(*one) - share(*other))
        for tree, packed in zip(trees, engine.masses(trees), strict=True)
        for one, other in zip(packed, engine.separate(tree), strict=True)
    )


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("dtype", "limit"), [(torch.float32, 1e-5), (torch.bfloat16, 5e-3)])
def test_packed_equals_separate_with_padding_and_several_traces_in_a_batch(
    family: str, dtype: torch.dtype, limit: float
) -> None:
    draw = random.Random(f"{family}{dtype}")
    worst, verdicts = 0.0, []
    for seed in range(3):
        engine = PackedEngine(
            make_model(family, dtype=dtype, seed=seed, spread=0.06), [2, 3], [4, 5]
        )
        trees = [random_tree(draw) for _ in range(4)]
        worst = max(worst, largest_difference(engine, trees))
        verdicts += [share(*masses) for row in engine.masses(trees) for masses in row]

    assert worst <= limit
    assert max(verdicts) - min(verdicts) > 10 * limit, "verdicts must differ for this to mean much"


def test_a_branch_does_not_see_its_neighbours() -> None:
    engine = PackedEngine(make_model(), [2], [3])
    alone = Tree((5, 6, 7, 8), ((9, 10, 11),))
    among = Tree((5, 6, 7, 8), ((40, 41), (9, 10, 11), (60, 61, 62, 63)))

    (expected,) = engine.masses([alone])[0]

    assert engine.masses([among])[0][1] == pytest.approx(expected, abs=1e-6)


def test_one_long_row_is_padded_beside_short_ones_and_order_is_kept() -> None:
    engine = PackedEngine(make_model(), [2], [3], batch_tokens=10_000)
    trees = [Tree(tuple(range(n)), ((7, 8),)) for n in (60, 3, 30)]

    together = engine.masses(trees)

    assert [engine.masses([tree])[0] for tree in trees] == [
        [pytest.approx(masses, abs=1e-6) for masses in row] for row in together
    ]


def test_padding_looks_at_itself_and_nothing_else() -> None:
    batch = pack([Tree((1, 2, 3), ((4,),)), Tree((1,), ((2,),))])

    assert batch.mask[1, 0, 3].tolist() == [False, False, False, True]
    assert batch.position_ids[0].tolist() == [0, 1, 2, 3]


class _SmallMemory(torch.nn.Module):
    """A model whose device holds a limited number of tokens."""

    def __init__(self, inner: torch.nn.Module, room: int) -> None:
        super().__init__()
        self.inner = inner
        self.config, self.device, self.dtype = inner.config, inner.device, inner.dtype
        self.room = room

    def get_input_embeddings(self) -> torch.nn.Module:
        return self.inner.get_input_embeddings()

    def forward(self, input_ids: torch.Tensor, **fields: object) -> object:
        if input_ids.numel() > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return self.inner(input_ids=input_ids, **fields)


def test_running_out_of_memory_halves_the_batch_and_goes_on() -> None:
    model = _SmallMemory(make_model(), room=10**9)
    engine = PackedEngine(model, [2], [3])
    trees = [Tree(tuple(range(50)), ((7, 8), (9,))) for _ in range(8)]
    expected = engine.masses(trees)
    model.room = 120

    assert engine.masses(trees) == [
        [pytest.approx(masses, abs=1e-6) for masses in row] for row in expected
    ]
    model.room = 10
    with pytest.raises(JudgeUnavailable):
        engine.masses(trees)


class _Maskless(_SmallMemory):
    """A model that ignores the mask it is given, as recurrent models do."""

    def forward(self, input_ids: torch.Tensor, **fields: object) -> object:
        fields.pop("attention_mask", None)
        return self.inner(input_ids=input_ids, **fields)


def test_a_model_that_ignores_the_mask_is_refused_at_load() -> None:
    with pytest.raises(ConfigurationError, match="does not honour tree attention"):
        PackedEngine(_Maskless(make_model(), 10**9), [2], [3])


def test_only_full_sdpa_attention_is_accepted() -> None:
    config = make_model("qwen2").config
    config._attn_implementation = "eager"
    with pytest.raises(ConfigurationError, match="sdpa"):
        check_attention(config)

    config = make_model("qwen2").config
    config.layer_types = ["full_attention", "sliding_attention", "full_attention"]
    with pytest.raises(ConfigurationError, match="sliding_attention"):
        check_attention(config)
