"""A cold start compiles each function of the draw once: a literal argument makes no version of its own."""

from __future__ import annotations

import os
import subprocess
import sys

DRAW = """
import numpy as np
import standout as so
from standout.adversary import draws, splitmix

rng = np.random.default_rng(0)
item = np.concatenate([rng.choice(30, 8, replace=False) for _ in range(40)])
data = so.Dataset.from_arrays(np.repeat(np.arange(40), 8), item, rng.integers(1, 6, 320), rng.integers(0, 300, 320))
for wrong, kind in ((0, "value"), (1, "value"), (1, "item")):
    so.Adversary(knows=4, wrong=wrong, wrong_kind=kind, value_within=1, time_within=14).sample(data)
compiled = {n: f.signatures for m in (draws, splitmix) for n, f in vars(m).items() if hasattr(f, "signatures")}
print(sum(len(s) > 0 for s in compiled.values()), sorted(n for n, s in compiled.items() if len(s) > 1))
"""


def test_no_function_of_the_draw_is_compiled_again_for_a_literal(tmp_path):
    # a cache of its own: from a warm one Numba loads the outer function alone
    cold = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", DRAW], env=cold, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    n, again = done.stdout.split(maxsplit=1)
    assert int(n) > 10
    assert again.strip() == "[]"
