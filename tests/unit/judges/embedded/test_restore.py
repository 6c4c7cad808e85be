"""The shipped encoder goes back to a model that can be trained on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training an encoder needs torch")
pytest.importorskip("transformers", reason="training an encoder needs transformers")

from benchmarks.embedded_judge.restore import main  # noqa: E402
from benchmarks.embedded_judge.train_encoder import base_model, encode, tokenizer_of  # noqa: E402
from rag_monitor.judges.embedded.encoder import load_encoder  # noqa: E402

SHIPPED = Path(__file__).parents[4] / "rag_monitor" / "judges" / "embedded" / "shipped"
PAIRS = [
    ("The shop opens at nine.", "Opening hours: from 9:00 to 18:00 on weekdays."),
    ("The shop is closed on Mondays.", "Opening hours: from 9:00 to 18:00 on weekdays."),
    ("会员可以免费寄送。", "普通用户运费10元，会员免运费。"),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    main(SHIPPED, folder, compare=False)
    return folder


def test_the_floats_have_the_shape_of_the_encoder(base: Path) -> None:
    model = base_model(base).eval()
    assert len(model.encoder.encoder.layer) == 8
    assert model.encoder.config.vocab_size == 32_000


def test_the_floats_say_what_the_int8_encoder_says(base: Path) -> None:
    with torch.no_grad():
        logits = base_model(base).eval()(**encode(tokenizer_of(base), PAIRS)).numpy()
    said = logits[:, 1:] - logits[:, :1]
    encoder = load_encoder(SHIPPED, 1)
    shipped = [encoder.logits([pair])[0] for pair in PAIRS]
    np.testing.assert_allclose(said, shipped, atol=0.3)
