"""Long commands killed with SIGKILL at random moments: are the numbers the same after they continue?

    python docs/scripts/kill_trial.py [KILLS] [SEED]

prints the table of docs/interruptions.md. `make kill-trial` calls it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from kills import VERBS, trial, write_data


def main() -> int:
    given = [int(x) for x in sys.argv[1:]]
    n, seed = given + [50, 0][len(given) :]
    print(
        "| command | kills | with finished parts | runs that finished | continued | parts lost | different | left behind |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    names = (
        "kills",
        "kills with finished parts",
        "finished",
        "continued",
        "lost",
        "different",
        "left behind",
    )
    bad = 0
    for k, verb in enumerate(VERBS):
        with tempfile.TemporaryDirectory(prefix="kills-") as name:
            write_data(Path(name))
            c = trial(Path(name), verb, (n + k) // len(VERBS), seed)
        bad += c["lost"] + c["different"] + c["left behind"]
        print(f"| `{verb}` | {' | '.join(str(c[name]) for name in names)} |", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
