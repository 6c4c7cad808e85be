"""What was called otherwise: old names to new ones, by package.

Each module here holds a dictionary `RENAMED`: a package below `rag_monitor`, dotted ("" is
`rag_monitor` itself), to its old and new names. Classes, functions, fields and constants stand by
their name, those of one class as `Class.name`, modules by their file name. A new file may stand in
another package, and then has a folder. `test_names.py` keeps the old names from coming back, and
writes the glossary of ADR 17 from them.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Final


def collect() -> dict[str, dict[str, str]]:
    """The dictionaries of all modules here as one."""
    joined: dict[str, dict[str, str]] = {}
    for module in sorted(info.name for info in pkgutil.iter_modules(__path__)):
        for package, names in importlib.import_module(f"{__name__}.{module}").RENAMED.items():
            joined.setdefault(package, {}).update(names)
    return joined


RENAMED: Final = collect()
