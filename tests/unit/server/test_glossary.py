"""The words that pages explain, and addresses that stay with a window."""

from __future__ import annotations

import re

import pytest

from rag_monitor.i18n import Message, translate
from rag_monitor.server.services import Services
from rag_monitor.server.ui.glossary import GLOSSARY
from tests.unit.server.conftest import open_client
from tests.unit.server.test_pages import HTML


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_every_page_explains_the_words(services: Services, language: str) -> None:
    async with open_client(services, headers=HTML) as client:
        text = (await client.get("/alerts", params={"lang": language})).text

    explained = text.split('class="glossary"')[1].split("</details>")[0]
    words = re.findall(r"<dt>(.*?)</dt>", explained)
    assert words == [translate(Message(word), language) for word in GLOSSARY]
    assert len(re.findall(r"<dd>[^<]{10,}</dd>", explained)) == len(words)


@pytest.mark.parametrize("path", ["/", "/judges", "/compare"])
async def test_a_sliding_window_has_a_link_that_stays(services: Services, path: str) -> None:
    async with open_client(services, headers=HTML) as client:
        sliding = (await client.get(path, params={"window": "6h"})).text
        (address,) = re.findall(r'<a href="([^"]+)">Link to exactly', sliding)
        fixed = (await client.get(address.replace("&amp;", "&"))).text

    assert re.search(r"from=\d{4}-\d\d-\d\dT.*to=\d{4}-\d\d-\d\dT", address)
    assert "Link to exactly" not in fixed
    assert "Cannot be applied" not in fixed
