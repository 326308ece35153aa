"""Why is this record found? Fact by fact, for one record of a synthetic release."""

# %%
import sys
from pathlib import Path

import standout as so

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "standout-out")
data = so.twin_dataset(n_records=600, seed=7)

# %% What an adversary knows about record 17: six items, one of them wrong
record = 17
who = so.Adversary(knows=6, wrong=1, value_within=1, time_within=14)
known = who.sample(data, [record], seed=7)

# %% The explanation contains labels; labels=False leaves them out. In a notebook `why` has its own
# view
why = so.explain(data, known, target=record)
print("\n".join(why.sentences()))
print(
    why.to_frame()[["item", "best_contribution", "runner_up_contribution", "bits_so_far"]]
    .round(2)
    .to_string(index=False)
)

# %%
so.render_explanation(why, folder / "why.html")
