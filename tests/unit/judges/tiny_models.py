"""Tiny random models and tokenizers, with the chat templates of real families."""

from __future__ import annotations

from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    GemmaConfig,
    GemmaForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

_TEXT = ["Yes No yes no 是 否 是 否 The warranty lasts 24 months. 保修期为二十四个月。"] * 40

TEMPLATES = {
    "qwen": (
        "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n"
        "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n"
        "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n"
        "{% endif %}{% endif %}"
    ),
    "llama": (
        "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m['role'] }}<|end_header_id|>"
        "\n\n{{ m['content'] | trim }}<|eot_id|>{% endfor %}{% if add_generation_prompt %}"
        "<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
    ),
    "mistral": (
        "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'system' %}[SYSTEM_PROMPT]"
        "{{ m['content'] }}[/SYSTEM_PROMPT]{% else %}[INST]{{ m['content'] }}[/INST]{% endif %}"
        "{% endfor %}"
    ),
    "glm": (
        "[gMASK]<sop>{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] }}{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
    ),
    "gemma": (
        "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
        "{{ raise_exception('System role not supported') }}{% endif %}{% for m in messages %}"
        "<start_of_turn>{{ m['role'] }}\n{{ m['content'] | trim }}<end_of_turn>\n{% endfor %}"
        "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
    ),
}
_SPECIALS = [
    "<bos>", "<eos>", "<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>",
    "<|eot_id|>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[gMASK]", "<sop>",
    "<|system|>", "<|user|>", "<|assistant|>", "<start_of_turn>", "<end_of_turn>",
]  # fmt: skip
_SIZE: dict[str, Any] = {
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
}
_FAMILIES: dict[str, tuple[Any, Any]] = {
    "qwen2": (Qwen2Config, Qwen2ForCausalLM),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM),
    "llama": (LlamaConfig, LlamaForCausalLM),
    "mistral": (MistralConfig, MistralForCausalLM),
    "gemma": (GemmaConfig, GemmaForCausalLM),
}
FAMILIES = tuple(_FAMILIES)


def make_tokenizer(family: str = "qwen") -> PreTrainedTokenizerFast:
    """A byte-level tokenizer that knows the labels as single tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=_SPECIALS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_TEXT, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<bos>",
        eos_token="<eos>",
        additional_special_tokens=_SPECIALS[2:],
    )
    fast.chat_template = TEMPLATES[family]
    return fast


def make_model(
    family: str = "qwen2",
    *,
    vocabulary: int = 512,
    dtype: torch.dtype = torch.float32,
    seed: int = 0,
    spread: float = 0.1,
) -> Any:
    """A model with random weights of standard deviation `spread`."""
    config_class, model_class = _FAMILIES[family]
    torch.manual_seed(seed)
    extra = {"head_dim": 12} if family in ("gemma", "qwen3") else {}
    if family == "mistral":
        extra["sliding_window"] = None
    config = config_class(
        vocab_size=vocabulary,
        initializer_range=spread,
        pad_token_id=0,
        bos_token_id=0,
        eos_token_id=1,
        **_SIZE,
        **extra,
    )
    config._attn_implementation = "sdpa"
    return model_class(config).to(dtype).eval()


def trusting(model: Any, labels: tuple[str, str] = ("Yes", "No")) -> Any:
    """The same model with its last layer bent so that nearly all mass lies on the labels."""
    tokenizer = make_tokenizer()
    ids = [tokenizer(label, add_special_tokens=False)["input_ids"][0] for label in labels]
    head = model.get_output_embeddings()
    with torch.no_grad():
        bias = torch.full((head.out_features,), -12.0)
        bias[ids] = 0.0
        head.bias = torch.nn.Parameter(bias)
    return model
