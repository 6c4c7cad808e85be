"""Where the files of a detector lie: in a folder, or fetched from the hub."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from rag_monitor.errors import ConfigurationError
from rag_monitor.i18n import msgid
from rag_monitor.judges.detectors.options import DetectorOptions

_SETTINGS: Final = ("*.json", "*.jinja", "*.txt", "*.model")
_ONNX_FILES: Final = ("model.onnx", "onnx/model.onnx")
TRANSFORMERS: Final = "transformers"
ONNX: Final = "onnx"


def runtime_of(options: DetectorOptions) -> str:
    """`transformers` or `onnx`, for `auto` by what is installed and lies in the folder."""
    if options.runtime != "auto":
        return options.runtime
    folder = Path(options.model)
    if options.model.endswith(".onnx"):
        return ONNX
    installed = find_spec("torch") is not None and find_spec("transformers") is not None
    if not folder.is_dir():
        return TRANSFORMERS if installed else ONNX
    exported = any((folder / name).is_file() for name in _ONNX_FILES)
    weights = any(folder.glob("*.safetensors"))
    return ONNX if exported and not (weights and installed) else TRANSFORMERS


def folder_of(options: DetectorOptions, runtime: str) -> Path:
    """The folder with the model's files, fetched where the settings allow it.

    Raises:
        ConfigurationError: There is no such folder, and the hub's cache has no such model.
    """
    given = Path(options.model)
    if given.suffix == ".onnx":
        if not given.is_file():
            raise ConfigurationError(
                "there is no file {path} for judges.detector.model", path=given
            )
        beside = (given.parent / "config.json").is_file()
        return given.parent if beside else given.parent.parent
    if given.is_dir():
        return given
    weights = ("*.onnx", "*.onnx_data") if runtime == ONNX else ("*.safetensors",)
    return fetched(options.model, options, (*_SETTINGS, *weights))


def onnx_file(options: DetectorOptions, folder: Path) -> Path:
    """The ONNX file in the folder of a model.

    Raises:
        ConfigurationError: There is none.
    """
    if options.model.endswith(".onnx"):
        return Path(options.model)
    for name in _ONNX_FILES:
        if (folder / name).is_file():
            return folder / name
    raise ConfigurationError(
        "the detector {folder} has no model.onnx and no onnx/model.onnx; export it with "
        '`optimum-cli export onnx`, or set judges.detector.runtime = "transformers"',
        folder=folder,
    )


def tokenizer_folder(options: DetectorOptions, folder: Path, foundation: str) -> Path:
    """The folder with `tokenizer.json`: the model's, or what the settings or its base name.

    Raises:
        ConfigurationError: It is nowhere.
    """
    if not options.tokenizer and (folder / "tokenizer.json").is_file():
        return folder
    named = options.tokenizer or foundation
    if not named:
        raise ConfigurationError(
            "the detector {folder} has no tokenizer.json; set judges.detector.tokenizer",
            folder=folder,
        )
    if Path(named).is_dir():
        local = Path(named)
    else:
        plain = DetectorOptions(model=named, local_files_only=options.local_files_only)
        local = fetched(named, plain, _SETTINGS)
    if not (local / "tokenizer.json").is_file():
        raise ConfigurationError(
            "the tokenizer {named} of the detector has no tokenizer.json; set "
            "judges.detector.tokenizer to a folder that has",
            named=named,
        )
    return local


def fetched(name: str, options: DetectorOptions, patterns: tuple[str, ...]) -> Path:
    """The folder of a model of the hub.

    Raises:
        ConfigurationError: It is not in the cache and must not, or cannot, be fetched.
    """
    try:
        from huggingface_hub import snapshot_download

        return Path(
            snapshot_download(
                name,
                revision=options.revision,
                allow_patterns=list(patterns),
                local_files_only=options.local_files_only,
            )
        )
    except ImportError:
        raise ConfigurationError(
            "there is no folder {name!r}, and without huggingface_hub no name of the hub", name=name
        ) from None
    except (OSError, ValueError) as error:
        text = msgid("there is no folder {name!r}, and the hub gives no such model ({reason})")
        if options.local_files_only:
            text = msgid(
                "there is no folder {name!r}, and the hub gives no such model ({reason}); set "
                "judges.detector.local_files_only = false once to fetch it"
            )
        reason = str(error).strip().partition("\n")[0]
        raise ConfigurationError(text, name=name, reason=reason) from None
