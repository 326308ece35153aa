"""An attack of your own in one file: count the known items that a record contains.

Run it: python examples/own_attack.py
"""

import numpy as np

import standout as so
from standout import extend


@extend.register_attack("overlap")
class Overlap(extend.Attack):
    """Score = number of known items that the record holds.

    Parameters
    ----------
    phi
        Match iff the eccentricity is at least this.
    """

    def __init__(self, *, phi: float = 1.5) -> None:
        self.phi = phi

    def compile(
        self, dataset: extend.Catalog, facts: extend.Facts, exclude: np.ndarray
    ) -> extend.Plan:
        """Every known item contributes 1, whatever its value and day."""
        known = extend.Known.of(dataset, facts, exclude)
        return known.plan(
            extend.Combine.SUM,
            value=np.ones((known.item.size, 1)),
            time=np.zeros((known.item.size, 1)),
        )

    def decide(self, seen: extend.Outcome) -> tuple[np.ndarray, np.ndarray]:
        """Match iff the best record stands out."""
        return extend.stands_out(seen, self.phi)

    def beta(self, seen: extend.Outcome) -> np.ndarray:
        """Lineup as Scoreboard-RH gives it."""
        return extend.one_over_sigma(seen)


def main() -> None:
    """Audit a small synthetic release with it and with attacks that come with standout."""
    rng = np.random.default_rng(0)
    record = np.repeat(np.arange(300), 20)
    item = np.concatenate([rng.choice(200, 20, replace=False) for _ in range(300)])
    dataset = so.Dataset.from_arrays(record, item, value=rng.integers(1, 6, record.size))
    who = so.Adversary(knows=4, value_within=1)
    attacks = ["overlap", "scoreboard-rh", "likelihood"]
    frame = so.Audit(dataset, [who], attacks, targets=200, seed=1).run().to_frame()
    shown = frame[["attack", "hit", "hit_low", "hit_high", "false_match"]]
    print(shown.round(3).to_string(index=False))


if __name__ == "__main__":
    main()
