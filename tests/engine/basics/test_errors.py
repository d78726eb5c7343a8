"""What is said to a user stands on one line, whatever the file held that it quotes."""

import pickle

import pytest

from engine.basics.errors import Cancelled, InvalidInput, MissingData, StoreError, Undifferentiable


@pytest.mark.parametrize("kind", [InvalidInput, MissingData, StoreError, Cancelled, Undifferentiable])
def test_a_message_is_one_line(kind):
    error = kind("The column `a\n b\u2028\tc` holds\r\n no numbers.")
    assert str(error) == "The column `a b c` holds no numbers."
    assert str(pickle.loads(pickle.dumps(error))) == str(error) and type(pickle.loads(pickle.dumps(error))) is kind
