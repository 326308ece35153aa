"""A view of your own in one file: items known by the first letter of their label.

Run it: python examples/own_view.py
"""

from dataclasses import replace

import numpy as np

import standout as so
from standout import extend


@extend.register_view("own-first-letters")
class FirstLetters(extend.View):
    """Show the first letters of a label in place of the item.

    The parameter is the number of letters.
    """

    def __init__(self, n: str = "1") -> None:
        self.n = int(n)

    @property
    def words(self) -> str:
        """What is known of an item."""
        return f"items known by their first {self.n} letters"

    @property
    def text(self) -> str:
        """The view as it is written in options."""
        return f"{self.name}:{self.n}"

    def apply(self, dataset: so.Dataset) -> so.Dataset:
        """Return the same records; entries whose labels begin alike are entries of one item."""
        letters = np.array([str(label)[: self.n] for label in dataset.item_labels])
        labels, of_item = np.unique(letters, return_inverse=True)
        return dataset.with_entries(item=of_item[dataset.record_item], item_labels=labels)

    def push(self, mechanism: extend.Mechanism) -> extend.Mechanism | None:
        """Return what a defense that only drops people publishes; others cannot be stated for letters."""
        return mechanism if replace(mechanism, sampled=1.0).is_neutral else None


def main() -> None:
    """Compare what is found by people who remember films, and by people who remember how they begin."""
    rng = np.random.default_rng(0)
    films = np.array([f"{a}{b} {k}" for a in "ABCDEFGH" for b in "aeiou" for k in range(8)])
    record = np.repeat(np.arange(300), 20)
    film = np.concatenate([rng.choice(films, 20, replace=False) for _ in range(300)])
    source = so.Dataset.from_arrays(record, film, time=rng.integers(12_000, 12_365, record.size))
    views = (None, "own-first-letters:2", "own-first-letters:1")
    adversaries = [so.Adversary(knows=4, time_within=14, view=view) for view in views]
    findings = so.Audit(source, adversaries, ["scoreboard-rh"], targets=200, seed=1).run()
    for row in findings.to_frame().itertuples():
        print(f"{row.adversary}: {row.hit:.2f} of the people are found")


if __name__ == "__main__":
    main()
