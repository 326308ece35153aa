"""Audit a release from Python, print the numbers, write the report and export one chart.

Runs on a synthetic release; use `so.Dataset.read` for your own file.
"""

# %%
import sys
from pathlib import Path

import standout as so

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "standout-out")
data = so.twin_dataset(n_records=600, seed=7)

# %% The adversaries: two numbers of known items, days known to within two weeks or not at all
adversaries = [
    so.Adversary(knows=k, value_within=1, time_within=t) for k in (2, 4) for t in (14, None)
]
findings = so.Audit(data, adversaries, ["scoreboard", "scoreboard-rh"], targets=100, seed=7).run()

# %% In a notebook, `findings` alone shows the answer; as a frame it is one row per adversary and
# attack
print(
    findings.to_frame()[
        ["adversary", "attack", "hit", "hit_low", "hit_high", "false_match"]
    ].to_string(index=False)
)

# %% The report in one file, and one picture as PDF
so.render(findings, folder / "report.html", title="A synthetic release")
(folder / "risk.pdf").write_bytes(so.charts(findings)["risk"].to_bytes("pdf"))
findings.save(folder / "findings.json")
