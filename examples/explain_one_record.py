"""Why does this record stand out? Fact by fact, for one record of a synthetic release."""

# %%
import sys
from pathlib import Path

import standout as so
from standout.audit.explain import draw, explain
from standout.data.synthetic import twin_dataset
from standout.report.waterfall import render_explanation, sentences

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "standout-out")
data = twin_dataset(n_records=600, seed=7)

# %% What somebody knows of record 17: six items, one of them wrong
record = 17
known = draw(data, record, so.Adversary(knows=6, wrong=1, value_within=1, time_within=14), seed=7)

# %% Labels are in the explanation because it was asked for; labels=False leaves them out
why = explain(data, known, "scoreboard-rh", target=record)
print("\n".join(sentences(why)))
for fact in why["facts"]:
    print(
        f"{fact['item']:>8}  first {fact['best']['contribution']:.2f}  second {fact['runner_up']['contribution']:.2f}"
    )

# %%
render_explanation(why, folder / "why.html")
