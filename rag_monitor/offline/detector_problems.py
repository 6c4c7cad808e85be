"""Forms of what is wrong with a hallucination detector and its settings, and their Chinese.

Used by `problems`, before its own forms. What a library says of its own files stays English.
"""

from __future__ import annotations

from typing import Final

_KEY: Final = r"(judges\.detector\.\w+)"

FORMS: Final = (
    (
        rf"{_KEY} must name a folder or a model of the hub",
        r"\1 应为文件夹，或模型库中的模型名称",
    ),
    (rf"{_KEY} must be one of (.+)", r"\1 应为以下之一：\2"),
    (rf"{_KEY} must be at least (\S+), not (\S+)", r"\1 至少为 \2，不能是 \3"),
    (rf"{_KEY} must be at most (\S+) for this model", r"对这个模型，\1 最多为 \2"),
    (rf"{_KEY} must be below (\S+), the number of classes", r"\1 必须小于类别数 \2"),
    (
        rf"{_KEY} is ('.*'), but this onnxruntime runs on the CPU only; install onnxruntime-gpu, "
        r"or set it to cpu",
        r"\1 为 \2，但这个 onnxruntime 只能在 CPU 上运行；请安装 onnxruntime-gpu，或改为 cpu",
    ),
    (
        r"there is no file (.+) for judges\.detector\.model",
        r"judges.detector.model 指定的文件 \1 不存在",
    ),
    (
        r"there is no folder ('.+'), and without huggingface_hub no name of the hub",
        r"没有文件夹 \1；没有 huggingface_hub，也无法使用模型库中的名称",
    ),
    (
        r"there is no folder ('.+'), and the hub gives no such model \((.*)\)"
        r"; set judges\.detector\.local_files_only = false once to fetch it",
        r"没有文件夹 \1，模型库也没有给出这个模型（`\2`）；如需下载，请把 "
        r"judges.detector.local_files_only 设为 false 一次",
    ),
    (
        r"there is no folder ('.+'), and the hub gives no such model \((.*)\)",
        r"没有文件夹 \1，模型库也没有给出这个模型（`\2`）",
    ),
    (r"the detector (\S+) has no config\.json that can be read", r"\1 中没有可读的 config.json"),
    (
        r"the detector (\S+) has no model\.onnx and no onnx/model\.onnx; export it with (`.+`), or "
        r"set judges\.detector\.runtime = \"transformers\"",
        r"\1 中没有 model.onnx，也没有 onnx/model.onnx；请用 \2 导出，或设 "
        r'judges.detector.runtime = "transformers"',
    ),
    (
        r"the detector (\S+) has no tokenizer\.json; set judges\.detector\.tokenizer",
        r"\1 中没有 tokenizer.json；请设置 judges.detector.tokenizer",
    ),
    (
        r"the tokenizer (\S+) of the detector has no tokenizer\.json; set "
        r"judges\.detector\.tokenizer to a folder that has",
        r"分词器 \1 中没有 tokenizer.json；请把 judges.detector.tokenizer 设为有它的文件夹",
    ),
    (r"the tokenizer (\S+) cannot be read: (.+)", r"分词器 \1 无法读取：`\2`"),
    (r"the detector (\S+) cannot be run: (.+)", r"检测模型 \1 无法运行：`\2`"),
    (r"cannot load the detector ('.+?'): (.+)", r"无法加载检测模型 \1：`\2`"),
    (r"cannot load the detector's tokenizer: (.+)", r"无法加载检测模型的分词器：`\1`"),
    (r"the detector's tokenizer has no tokenizer\.json", r"检测模型的分词器没有 tokenizer.json"),
    (r"a detector (?:in ONNX )?needs (\S+): (.+)", r"检测模型需要 \1：`\2`"),
    (
        r"a detector through transformers needs (\S+): (.+); a folder with model\.onnx needs no "
        r"more than is there",
        r"经由 transformers 运行检测模型需要 \1：`\2`；含有 model.onnx 的文件夹不需要再装什么",
    ),
    (
        r"the files of ('.+') do not say how it is asked \((.+), labels: (.+)\); set "
        r"judges\.detector\.format",
        r"\1 的文件没有说明如何提问（`\2`，标签：`\3`）；请设置 judges.detector.format",
    ),
    (
        r"the labels (.+) do not say which class means entailment; set "
        r"judges\.detector\.entailment to its number",
        r"标签 `\1` 没有说明哪一类表示蕴含；请把 judges.detector.entailment 设为它的序号",
    ),
    (
        r"MiniCheck joins document and claim with the tokenizer's eos_token, which its "
        r"tokenizer_config\.json does not name",
        r"MiniCheck 用分词器的 eos_token 连接文档和陈述，而它的 tokenizer_config.json 没有写明",
    ),
    (
        r"the detector has no chat template; use the published model",
        r"检测模型没有对话模板；请使用公开发布的模型",
    ),
    (
        r"the detector's chat template leaves out the passages or the statement; it is none of "
        r"Granite Guardian's",
        r"检测模型的对话模板漏掉了段落或陈述；它不是 Granite Guardian 的模板",
    ),
    (
        r"a detector that writes its verdict does not run through onnxruntime; set "
        r"judges\.detector\.runtime = \"transformers\"",
        r"写出结论的检测模型不能经由 onnxruntime 运行；"
        r'请设 judges.detector.runtime = "transformers"',
    ),
    (
        r"the detector (\S+) asks for (.+); a file without a cache of keys and values asks for "
        r"input_ids and attention_mask",
        r"检测模型 \1 要求输入 `\2`；不带键值缓存的文件要求 input_ids 和 attention_mask",
    ),
    (
        r"the detector gives (\d+) numbers where (\S+) has at least (\d+); see "
        r"judges\.detector\.format",
        r"检测模型给出 \1 个数，而 \2 至少有 \3 个；请查看 judges.detector.format",
    ),
    (
        r"the detector (\S+) has no weights of HHEM-2\.1-Open: (.+)",
        r"\1 中没有 HHEM-2.1-Open 的权重：`\2`",
    ),
    (r"no token of the detector reads ('.+')", r"检测模型没有读作 \1 的 token"),
)
