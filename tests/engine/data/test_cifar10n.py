"""Human labels of CIFAR-10: which file, in which order."""

import numpy as np
import pandas as pd
import pytest

from engine.basics.errors import InvalidInput, MissingData
from engine.data import cifar10n


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_DATA", str(tmp_path))
    (tmp_path / "cifar10n").mkdir()
    return tmp_path / "cifar10n" / cifar10n.FILE


def test_labels_of_a_kind_in_the_order_of_the_pictures(folder):
    pd.DataFrame({"label": [1, 2, 3], "worst": [1, 5, 3]}).to_parquet(folder)
    np.testing.assert_array_equal(cifar10n.labels("worst", np.array([1, 2, 3])), [1, 5, 3])
    with pytest.raises(MissingData, match="a different order"):
        cifar10n.labels("worst", np.array([2, 1, 3]))
    with pytest.raises(MissingData, match="damaged"):
        cifar10n.labels("aggregate", np.array([1, 2, 3]))
    with pytest.raises(InvalidInput, match="kind of label"):
        cifar10n.labels("best", np.array([1, 2, 3]))


def test_without_the_file_there_is_a_sentence(folder, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(folder.parent))
    with pytest.raises(MissingData, match="CIFAR-10N is not complete under WHICHFLUENCE_DATA"):
        cifar10n.labels("worst", np.array([1, 2, 3]))
