"""Lists and objects that Python wrote into a table's cell, as `DataFrame.to_csv` does.

A list of passages becomes `['a', 'b']`, an array of NumPy `['a' 'b']`, a list of LangChain's
documents `[Document(page_content='a', metadata={})]`. All are read without running anything.
Adjacent texts are one text to Python and two to NumPy: a list never holds such, so they are
NumPy's.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from itertools import pairwise
from typing import Any, Final

from rag_monitor.i18n import Message

LONGEST: Final = 4_000_000
"""Characters of a cell that are read."""
_DEEPEST: Final = 50
_SPACE: Final = (
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.DEDENT,
)
_VALUES: Final = (tokenize.STRING, tokenize.NUMBER)
_BEGINNING: Final = re.compile(r"\s*(?:\[\s*)*(?:['\"]|\{\s*['\"]|array\(|nan\b|\(?[A-Z]\w*\(\w+=)")
_NUMBERS: Final = re.compile(r"\s*\[[\d\s.eE+-]*\]\s*")


def looks_written_by_python(text: str) -> bool:
    """Whether a cell that is no JSON begins as a list or object of Python does."""
    listed = text.lstrip()[:1] in ("[", "{") and _BEGINNING.match(text) is not None
    return listed or _NUMBERS.fullmatch(text) is not None


def read_literal(text: str) -> list[Any] | dict[str, Any]:
    """The list or object behind `repr`.

    Raises:
        ValueError: It is none, it is cut short (NumPy writes `...` into long arrays), or too large.
    """
    text = text.strip()
    if len(text) > LONGEST:
        raise ValueError(Message("longer than {longest:,} characters", longest=LONGEST))
    try:
        tokens = _tokens(text)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # an escape that `repr` never writes
            value = _array(tokens) if _is_array(tokens) else _evaluated(text)
    except (SyntaxError, tokenize.TokenError, RecursionError, MemoryError):
        raise ValueError(Message("not a list or an object")) from None
    if not isinstance(value, list | dict) or not _is_plain(value):
        raise ValueError(Message("not a list or an object of texts and numbers"))
    return value


def _tokens(text: str) -> list[tokenize.TokenInfo]:
    depth, tokens = 0, []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in _SPACE:
            continue
        depth += (token.string in "([{") - (token.string in ")]}")
        if depth > _DEEPEST:
            raise ValueError(Message("nested too deeply"))
        tokens.append(token)
    return tokens


def _evaluated(text: str) -> Any:
    """The value of a literal in which objects with named members may stand."""
    return ast.literal_eval(_Objects().visit(ast.parse(text, mode="eval").body))


class _Objects(ast.NodeTransformer):
    """Turns `Document(page_content='a')` into `{'page_content': 'a'}`; nothing is called."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        named = node.keywords and all(keyword.arg for keyword in node.keywords)
        if not named or node.args or not isinstance(node.func, ast.Name):
            return node
        keys: list[ast.expr | None] = [ast.Constant(keyword.arg) for keyword in node.keywords]
        return ast.Dict(keys=keys, values=[keyword.value for keyword in node.keywords])


def _is_array(tokens: list[tokenize.TokenInfo]) -> bool:
    return any(one.type in _VALUES and other.type in _VALUES for one, other in pairwise(tokens))


def _array(tokens: list[tokenize.TokenInfo]) -> list[Any]:
    """The values of a one-dimensional array of texts or numbers."""
    inside = tokens[1:-1]
    ends = (tokens[0].string, tokens[-1].string)
    if ends != ("[", "]") or any(token.type not in _VALUES for token in inside):
        raise ValueError(Message("not a list or an object"))
    return [ast.literal_eval(token.string) for token in inside]


def _is_plain(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) for key in value) and all(map(_is_plain, value.values()))
    return value is None or isinstance(value, str | int | float)
