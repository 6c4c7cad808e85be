"""A detector exported to ONNX, run by onnxruntime; needs neither torch nor transformers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rag_monitor.errors import ConfigurationError, JudgeUnavailable
from rag_monitor.installation import install_command
from rag_monitor.judges.batching import batches
from rag_monitor.judges.detectors.formats import Format, Reads
from rag_monitor.judges.detectors.options import DetectorOptions
from rag_monitor.judges.detectors.runner import Numbers, picked

_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids", "decoder_input_ids"})
_CUDA: Final = "CUDAExecutionProvider"
_CPU: Final = "CPUExecutionProvider"


class OnnxRunner:
    """An ONNX file with `logits` as its first output.

    Args:
        file: As `optimum-cli export onnx` writes it; `--monolith` for MiniCheck's Flan-T5.
        form: How the model is asked.
        options: Device, threads and size of batches.

    Raises:
        ConfigurationError: onnxruntime is missing or cannot run the file, or the file is of
            another kind than its format.
    """

    def __init__(self, file: Path, form: Format, options: DetectorOptions) -> None:
        if form.reads is Reads.WORDS:
            raise ConfigurationError(
                "a detector that writes its verdict does not run through onnxruntime; set "
                'judges.detector.runtime = "transformers"'
            )
        self._form = form
        self._budget = options.batch_tokens
        providers = _providers(options.device)
        self._session = _session(file, providers, options.threads)
        self._wanted = [value.name for value in self._session.get_inputs()]
        unknown = set(self._wanted) - _INPUTS
        if unknown or "input_ids" not in self._wanted:
            raise ConfigurationError(
                "the detector {file} asks for {wanted}; a file without a cache of keys and "
                "values asks for input_ids and attention_mask",
                file=file,
                wanted=", ".join(self._wanted),
            )
        used = self._session.get_providers()
        self.on_gpu = _CUDA in used
        self.place = f"onnxruntime, {'GPU' if self.on_gpu else 'CPU'}"
        self.kind = "onnx" if file.stem == "model" else f"onnx-{file.stem}"

    def run(self, encodings: Sequence[Any]) -> list[Numbers]:
        """The numbers of each input, in order.

        Raises:
            JudgeUnavailable: onnxruntime could not run a batch.
        """
        outputs: list[Any] = [None] * len(encodings)
        for places in batches([len(e.ids) for e in encodings], self._budget):
            own = [encodings[place] for place in places]
            output = self._output(own)
            for place, numbers in zip(
                places, picked(output, [len(e.ids) for e in own], self._form), strict=True
            ):
                outputs[place] = numbers
        return outputs

    def _output(self, encodings: Sequence[Any]) -> Numbers:
        try:
            [output, *_] = self._session.run(None, self._fed(encodings))
        except Exception as error:  # noqa: BLE001 - the library's errors have no base of their own
            raise JudgeUnavailable(
                "onnxruntime could not run the detector: {reason}", reason=error
            ) from None
        return np.asarray(output, dtype=np.float32)

    def _fed(self, encodings: Sequence[Any]) -> dict[str, NDArray[np.int64]]:
        width = max(len(e.ids) for e in encodings)
        fed = {name: np.zeros((len(encodings), width), np.int64) for name in _INPUTS}
        for row, encoding in enumerate(encodings):
            size = len(encoding.ids)
            fed["input_ids"][row, :size] = encoding.ids
            fed["attention_mask"][row, :size] = 1
            fed["token_type_ids"][row, :size] = encoding.type_ids
        fed["decoder_input_ids"] = fed["decoder_input_ids"][:, :1]  # T5 starts with token 0
        return {name: fed[name] for name in self._wanted}


def _providers(device: str) -> list[str]:
    try:
        import onnxruntime
    except ImportError as error:
        raise ConfigurationError(
            "a detector in ONNX needs {reason}: {command}",
            reason=error.name or error,
            command=install_command("server"),
        ) from None
    if device == "cpu" or (device == "auto" and _CUDA not in onnxruntime.get_available_providers()):
        return [_CPU]
    if _CUDA not in onnxruntime.get_available_providers():
        raise ConfigurationError(
            "judges.detector.device is {device!r}, but this onnxruntime runs on the CPU only; "
            "install onnxruntime-gpu, or set it to cpu",
            device=device,
        )
    return [_CUDA, _CPU]


def _session(file: Path, providers: list[str], threads: int) -> Any:
    """A session on the threads that the settings give."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.force_spinning_stop", "1")
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=providers)
    except Exception as error:  # noqa: BLE001 - the library's errors have no base of their own
        raise ConfigurationError(
            "the detector {file} cannot be run: {reason}", file=file, reason=error
        ) from None
