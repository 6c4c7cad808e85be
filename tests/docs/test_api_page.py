"""docs/api.md says what the OpenAPI document says."""

from __future__ import annotations

import os
import runpy

from rag_monitor.server.app import create_app
from tests.docs.pages import ROOT, text_of
from tests.unit.server.fakes import make_services


def test_the_page_is_the_one_that_the_document_gives() -> None:
    build = runpy.run_path(str(ROOT / "docs" / "build_api.py"))
    expected = build["page"](create_app(make_services()).openapi())
    if os.environ.get("UPDATE_PAGES"):
        build["PAGE"].write_text(expected, encoding="utf-8")

    assert text_of("docs/api.md") == expected, (
        "the interface has changed: run this test again with UPDATE_PAGES=1 and read the difference"
    )
