"""Nonsense in the address of any page does no harm: it is ignored, and the page says so."""

from urllib.parse import parse_qs

import pytest

from app.widgets.frame.navigation import PAGES
from tests.e2e.test_nonsense import NONSENSE
from tests.pages.support import open, says, sound


@pytest.mark.parametrize("name", [name for name, *_ in PAGES])
def test_nonsense_in_the_address_gives_a_message(name):
    at = sound(open(name, **parse_qs(NONSENSE, keep_blank_values=True)))
    assert says(at, "which was ignored") and len(at.title) == 1
