"""A kind of level channel of your own in one file: directions, which are labels in a source and lie on a circle.

Run it: python examples/own_channel.py
"""

import numpy as np

import standout as so
from standout import extend

POINTS = np.array(["N", "NE", "E", "SE", "S", "SW", "W", "NW"])


@extend.register_channel("compass", recognizes=lambda labels: np.isin(labels, POINTS).all())
class Compass(extend.OwnChannel):
    """Eight directions; N and NW are one step apart."""

    @staticmethod
    def encode(labels: np.ndarray) -> np.ndarray:
        """Return the number of steps from north; NaN for a label that is no direction."""
        at = labels[:, None] == POINTS
        return np.where(at.any(axis=1), at.argmax(axis=1), np.nan)

    def decode(self, levels: np.ndarray) -> np.ndarray:
        """Return the labels of the directions."""
        return POINTS[levels.astype(int)]

    def gap(self, known: np.ndarray, level: np.ndarray) -> np.ndarray:
        """Return the steps between two directions, the shorter way round."""
        steps = np.abs(known - level)
        return np.minimum(steps, 8 - steps)

    def error_kernel(self, within: float | str) -> extend.CircleSteps:
        """Return the kernel of a direction that is known to within some steps."""
        if isinstance(within, str):
            raise so.ParameterError(f"{self.name}: use a number of steps, not {within}")
        return extend.CircleSteps(float(within), 1.0, 8.0)


def main() -> None:
    """Compare people who know the direction of a trip exactly, roughly, and not at all."""
    rng = np.random.default_rng(0)
    record = np.repeat(np.arange(300), 12)
    place = np.concatenate([rng.choice(60, 12, replace=False) for _ in range(300)])
    way = POINTS[rng.integers(0, 8, record.size)]
    trips = so.Dataset.from_arrays(record, place, channels={"way": way})
    adversaries = [so.Adversary(knows=3, within=told) for told in ({"way": 0}, {"way": 1}, None)]
    findings = so.Audit(trips, adversaries, ["scoreboard-rh"], targets=200, seed=1).run()
    for row in findings.to_frame().itertuples():
        print(f"{row.adversary}: {row.hit:.2f} of the people are found")


if __name__ == "__main__":
    main()
