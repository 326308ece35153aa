"""A defense of your own in one file: hide what everybody did before a given day.

Run it: python examples/own_defense.py
"""

import numpy as np

import standout as so
from standout import extend


@extend.register_defense("own-recent-only")
class RecentOnly(extend.Defense):
    """Remove all entries before a day.

    Parameters
    ----------
    since
        First day that is released, counted from 1970-01-01.
    """

    def __init__(self, *, since: int) -> None:
        self.since = since

    def change(self, source: so.Dataset, seed: int) -> so.Dataset:
        """Keep the late entries; records that become empty are removed by `apply`."""
        day = (source.record_tick + source.first_tick) / source.ticks_per_day
        return source.with_entries(day >= self.since)

    def mechanism(self, source: so.Dataset, release: so.Dataset) -> extend.Mechanism:
        """Publish the share of entries that were removed."""
        return extend.Mechanism(lost=1 - release.n_entries / source.n_entries)


def main() -> None:
    """Compare the risk of the data with and without it, also in a chain with a defense that comes with standout."""
    rng = np.random.default_rng(0)
    record = np.repeat(np.arange(300), 20)
    item = np.concatenate([rng.choice(200, 20, replace=False) for _ in range(300)])
    source = so.Dataset.from_arrays(record, item, time=rng.integers(12_000, 12_365, record.size))
    recent = so.defense("own-recent-only", since=12_180)
    who = so.Adversary(knows=4, time_within=14)
    for defense in (None, recent, recent | so.defense("coarsen-time", to="quarter")):
        findings = so.Audit(
            source, [who], ["scoreboard-rh"], targets=200, seed=1, defense=defense
        ).run()
        print(
            f"{defense or 'no defense'}: {findings.to_frame()['hit'].item():.2f} of the people are found"
        )


if __name__ == "__main__":
    main()
