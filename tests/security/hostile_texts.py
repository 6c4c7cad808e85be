"""Texts that would act if any page took them for more than text."""

from __future__ import annotations

SCRIPTS = (
    "<script>window.__acted = 1</script>",
    '"><img src=x onerror="window.__acted=1">',
    "<svg onload=window.__acted=1>",
    "' onmouseover='window.__acted=1",
    "</textarea></title></style><script>window.__acted=1</script>",
    '<a href="javascript:window.__acted=1">press</a>',
    "javascript:window.__acted=1",
    '<iframe srcdoc="<script>parent.__acted=1</script>"></iframe>',
    '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
    "<base href=//evil.example/>",
    '<link rel=stylesheet href="https://evil.example/x.css">',
    "![seen](https://evil.example/pixel.png)",
    "{{7919*7919}} ${7919*7919} {% raw %} #{7919*7919}",
    "&lt;script&gt;window.__acted=1&lt;/script&gt;",
    "\u2028</script><script>window.__acted=1</script>",
    "]]><script>window.__acted=1</script><![CDATA[",
)

PRODUCT = str(7919 * 7919)
"""What a template engine would make of the sums above: nothing else on a page says it."""

EVERYTHING = " ".join(SCRIPTS)
"""All of them in one text."""
