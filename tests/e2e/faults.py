"""What axe-core finds on an open page."""

from typing import Any

import pytest

RULES = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]},
         "resultTypes": ["violations"]}


def serious(page) -> list[tuple[str, Any]]:
    """Its serious and critical violations of WCAG 2.1 A and AA: rule, and where."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is missing").Axe
    return [(fault["id"], [(node["html"][:160], node["target"]) for node in fault["nodes"][:3]])
            for fault in axe().run(page, options=RULES).response["violations"]
            if fault["impact"] in ("serious", "critical")]
