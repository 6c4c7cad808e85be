"""Compiles the parts of the embedded judge that read and compare words, where that is possible.

Without Cython or a C compiler the package is built all the same: `rag_monitor` then runs the
Python that these parts stand in for, with the same results, at a third of the speed.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = (
    "rag_monitor/language/_reading.pyx",
    "rag_monitor/language/_vocabulary.pyx",
    "rag_monitor/judges/embedded/_matching.pyx",
)


class CompiledParts(BuildHookInterface):  # type: ignore[type-arg]
    """In place for an editable install, into the wheel otherwise."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and tell the wheel what it is for."""
        if self.target_name != "wheel":
            return
        editable = version == "editable"
        built = Path(self.root) if editable else Path(self.root) / "build" / "compiled"
        try:
            compile_all(Path(self.root), built)
        except Exception as error:  # noqa: BLE001 - without a compiler the package works as well
            self.app.display_warning(f"not compiled, runs as Python: {error}")
            for source in SOURCES if editable else ():
                # What was compiled from other sources must not stand in for these.
                (Path(self.root) / compiled_name(source)).unlink(missing_ok=True)
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        if not editable:
            for source in SOURCES:
                name = compiled_name(source)
                build_data["force_include"][str(built / name)] = name


def compiled_name(source: str) -> str:
    """The path of what a source is compiled to, for the Python that runs."""
    return source.removesuffix(".pyx") + str(sysconfig.get_config_var("EXT_SUFFIX"))


def compile_all(root: Path, target: Path) -> None:
    """Compile every source below `root` to its place below `target`.

    Raises:
        ImportError: Cython or setuptools is not installed.
        Exception: The compiler is missing or failed; setuptools has several kinds of errors.
    """
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension

    wanted = [
        Extension(
            source.removesuffix(".pyx").replace("/", "."),
            [str(root / source)],
            extra_compile_args=["-O3", "-g0"],
        )
        for source in SOURCES
    ]
    scratch = root / "build" / "cython"
    parts = cythonize(wanted, build_dir=str(scratch), quiet=True)
    command = Distribution({"ext_modules": parts}).get_command_obj("build_ext")
    command.build_lib = str(target)
    command.build_temp = str(scratch)
    command.ensure_finalized()
    command.run()


if __name__ == "__main__":
    compile_all(Path(__file__).parent, Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent)
