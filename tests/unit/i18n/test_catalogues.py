"""Every message has its translation in every catalogue, and a catalogue is all a language takes."""

from __future__ import annotations

import re
import string
import subprocess
import sys
from gettext import GNUTranslations
from io import BytesIO
from pathlib import Path

import pytest

from rag_monitor.i18n.catalogue import LOCALE, compiled, entries, languages
from tests.unit.i18n.extraction import Key, catalogue, descriptions, messages, written

OTHERS = languages()[1:]
FOUND = messages()


def places(text: str) -> set[str]:
    """The parameters of a sentence."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_the_extraction_finds_code_and_templates() -> None:
    assert len(FOUND) > 900
    assert Key("no alerts") in FOUND
    assert Key("Skip to content") in FOUND
    assert Key("{n} item", plural="{n} items") in FOUND
    assert Key("read", context="doctor") in FOUND


@pytest.mark.parametrize("language", OTHERS)
def test_no_message_is_without_its_translation(language: str) -> None:
    known = catalogue(language)

    assert [key for key in sorted(FOUND) if not all(known.get(key, [""]))] == []


@pytest.mark.parametrize("language", OTHERS)
def test_no_translation_is_unused(language: str) -> None:
    assert sorted(set(catalogue(language)) - FOUND - descriptions()) == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_the_parameters_of_its_message(language: str) -> None:
    for key, forms in catalogue(language).items():
        if "{" not in key.msgid or not places(key.msgid) - {""}:
            continue
        for form in forms:
            assert places(form) == places(key.plural or key.msgid), key


def test_chinese_is_chinese() -> None:
    for key, (form,) in catalogue("zh").items():
        english = re.sub(r"\{.*?\}", "", key.msgid)
        assert re.search("[\u4e00-\u9fff]", form) or not re.search(r"[a-z]{3} [a-z]", english), key


@pytest.mark.parametrize("language", OTHERS)
def test_a_catalogue_is_written_in_order(language: str) -> None:
    path = LOCALE / language / "LC_MESSAGES" / "rag_monitor.po"
    text = path.read_text("utf-8")

    assert written(text.partition("\n\n")[0], catalogue(language)) == text, "run `make messages`"


def test_what_is_read_is_what_gettext_reads() -> None:
    text = (
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n'
        '# a remark\nmsgctxt "menu"\nmsgid "open"\nmsgstr "auf"\n'
        'msgid "a \\"b\\"\\n"\n"c"\nmsgstr "ü"\n\nmsgid "later"\nmsgstr ""\n'
    )
    known = GNUTranslations(BytesIO(compiled(entries(text))))

    assert known.pgettext("menu", "open") == "auf"
    assert known.gettext('a "b"\nc') == "ü"
    assert known.gettext("later") == "later"


def test_a_third_language_is_one_file(tmp_path: Path) -> None:
    folder = tmp_path / "fr" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    (folder / "rag_monitor.po").write_text(
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
        'msgid "{found}, this release needs {wanted}: run without --check"\n'
        'msgstr "{found} ; cette version demande {wanted} : relancez sans --check"\n\n'
        'msgid "the database is empty"\nmsgstr "la base est vide"\n',
        "utf-8",
    )
    program = (
        "import sys; from pathlib import Path; from rag_monitor.i18n import catalogue; "
        f"catalogue.LOCALE = Path({str(tmp_path)!r}); "
        "from rag_monitor.cli import main; main(sys.argv[1:])"
    )
    (tmp_path / "empty.db").touch()
    command = ["migrate", "--check", "--language", "fr", "--database-url", "sqlite:///empty.db"]

    done = subprocess.run(
        [sys.executable, "-c", program, *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )

    assert re.match("la base est vide ; cette version demande .* : relancez", done.stdout), done
