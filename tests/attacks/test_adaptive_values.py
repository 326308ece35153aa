"""Values behind a released histogram: the short way for certain changes gives what all steps give."""

import numpy as np
import pytest
from scipy import sparse

from standout.attacks.adaptive_channels import source_values
from standout.attacks.bayes import SHRINK
from standout.formulas.defended import deconvolved
from standout.formulas.likelihood import shrunk

CHANGES = {
    "unchanged": np.eye(5),
    "a level that the release lacks": np.diag([1.0, 1.0, 0.0, 1.0, 1.0]),
    "rounded": np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]], float),
    "noise": 0.5 * np.eye(5) + 0.1,
    "some lost": np.array([[1, 0], [0.4, 0], [1, 0], [0, 1], [0, 0.5]], float),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_shortcut_for_certain_changes_of_values_gives_the_same_source_values(name):
    change = sparse.csr_array(CHANGES[name])
    rng = np.random.default_rng(4)
    levels, released = change.shape
    own = rng.integers(0, 9, (6, released)).astype(float)
    own[0] = 0
    common = np.tile(rng.dirichlet(np.ones(released)), (6, 1))
    n_own = own.sum(axis=1)
    first = deconvolved(common, change, np.full((6, levels), 1 / levels), 20)
    h = shrunk(own / np.maximum(n_own, 1)[:, None], n_own[:, None], common, SHRINK)
    np.testing.assert_allclose(
        source_values(own, n_own, common, change), deconvolved(h, change, first, 20), rtol=1e-12
    )
