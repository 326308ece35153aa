"""A choice of your own in one file: popular items are more likely to be known, but less than in proportion.

Run it: python examples/own_choice.py
"""

import numpy as np

import standout as so
from standout import extend


@extend.register_choice("talked-about")
class TalkedAbout(extend.Choice):
    """Items in proportion to a power of the number of people who hold them: `talked-about` or `talked-about:POWER`."""

    usage = "talked-about:POWER (POWER = a number, 0.5 by default)"

    def __init__(self, arguments: str = "0.5") -> None:
        self.power = float(arguments)
        self.text = f"talked-about:{arguments}"

    def compile(self, catalog: extend.Catalog, knows: int) -> extend.PickRule:
        """Return one weight per item."""
        return extend.PickRule(weight=catalog.supports**self.power)

    @property
    def words(self) -> str:
        """How reports describe it."""
        return f"items by popularity to the power of {self.power:g}"


def main() -> None:
    """Audit a small synthetic release with it and with choices that come with standout."""
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, 301)
    share /= share.sum()
    record = np.repeat(np.arange(400), 15)
    item = np.concatenate([rng.choice(300, 15, replace=False, p=share) for _ in range(400)])
    dataset = so.Dataset.from_arrays(record, item)
    kinds = [
        so.Adversary(knows=3, value_within=None, choose=choose)
        for choose in ("uniform", "talked-about", "popular")
    ]
    findings = so.Audit(dataset, kinds, ["likelihood"], targets=300, seed=1).run()
    print(
        findings.to_frame()[["adversary", "attack", "hit", "hit_low", "hit_high"]]
        .round(3)
        .to_string(index=False)
    )


if __name__ == "__main__":
    main()
