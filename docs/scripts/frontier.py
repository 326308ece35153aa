"""Write docs/frontier.md: risk against utility on two real releases, and the time on synthetic data.

    python docs/scripts/frontier.py DATASET [FOLDER]      measure ml-latest-small or online-retail
    (folder: STANDOUT_DATA) python docs/scripts/frontier.py f06 [FOLDER]          measure F06's
    defenses against an attacker who knows them python docs/scripts/frontier.py speed
    measure the time for two million entries python docs/scripts/frontier.py speed-check
    measure the CPU time of some of its cells, for a busy machine python docs/scripts/frontier.py
    risk [FOLDER] [TEXT]  attack the stored settings again (those whose name holds the text) python
    docs/scripts/frontier.py page                  write the page from what was measured

Finished cells are kept in .bench-cache, so that a run that was stopped goes on.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import standout as so
from standout.audit.findings import write_whole
from standout.audit.measures import MEASURES as RISKS
from standout.defenses.frontier import SCHEMA_VERSION, SEEDS, TARGETS, UNDEFENDED
from standout.defenses.frontier_cells import Bench, RiskTest, Setting
from standout.defenses.frontier_front import highest_rate, losses, risk_of
from standout.report.frontier import SHORT, numbered
from standout.report.words import between, percent
from standout.results import to_plain

DOCS = Path(__file__).parents[1]
RESULTS = DOCS.parent / "benchmarks" / "results"
CACHE = DOCS.parent / ".bench-cache"
NAMES = {"ml-latest-small": "MovieLens latest-small", "online-retail": "Online Retail"}

BARE = "drop-values | drop-time"
"""Family of the release without values and dates."""

SPEED_DEFENSES = (
    "drop-entries",
    "drop-rare-items",
    "keep-top-items",
    "cap-entries",
    "sample-records",
    "round-values",
    "noise-values",
    "coarsen-time",
    "shift-time",
    "swap-entries",
    "swap-attributes",
    "group-items",
)
SPEED_RECORDS = 10_000
SPEED_TARGETS = 400
SPEED_CHECK = (
    "drop-entries(share=0.6)",
    "keep-top-items(k=136)",
    "noise-values(within=1)",
    "coarsen-time(to=month)",
    "swap-entries(share=0.5)",
    "group-items(groups=863)",
)
"""Settings whose CPU time stands for that of all."""


def read(name: str, folder: Path) -> so.Dataset:
    """One of the two releases."""
    if name == "ml-latest-small":
        return so.Dataset.read(folder / name / "ratings.csv.gz", resolution="day")
    return so.Dataset.read(
        folder / name / "online_retail.csv.gz",
        record="CustomerID",
        item="StockCode",
        value="Quantity",
        time="InvoiceDate",
        resolution="day",
    )


def measure(name: str, folder: Path) -> None:
    """Measure the frontier of one release; write its file and its picture."""
    found = so.frontier(read(name, folder), work=CACHE / f"frontier-{name}", log=print)
    found.save(RESULTS / f"frontier-{name}.json")
    (DOCS / "images" / f"frontier-{name}.png").write_bytes(found.chart().to_bytes("png"))
    print(found.sentence)


def measure_risk(folder: Path, text: str = "") -> None:
    """Attack every stored setting again; utility does not depend on the attacks, and stays."""
    for name in NAMES:
        data, path = read(name, folder), RESULTS / f"frontier-{name}.json"
        stored = json.loads(path.read_text(encoding="utf-8"))
        risk = RiskTest(data, None, None, TARGETS, stored["provenance"]["seed"])
        for cell in stored["cells"]:
            if "risk" in cell and text in cell["defense"]:
                made = (
                    data
                    if cell["defense"] == UNDEFENDED
                    else so.parse_defense(cell["defense"]).apply(data, risk.seed)
                )
                found = risk.of(made)
                cell["risk"] = to_plain(found)
                print(name, cell["defense"], percent(found[found.worst].rate), flush=True)
        write_stored(name, stored | {"schema_version": SCHEMA_VERSION})


def write_stored(name: str, stored: dict[str, Any]) -> None:
    """Write a frontier whose cells changed, and its picture."""
    path = RESULTS / f"frontier-{name}.json"
    write_whole(path, json.dumps(stored, allow_nan=False, ensure_ascii=False) + "\n")
    found = so.Frontier.load(path)
    found.save(path)
    (DOCS / "images" / f"frontier-{name}.png").write_bytes(found.chart().to_bytes("png"))
    print(found.sentence)


def measure_speed() -> None:
    """Time of 12 defenses at 3 strengths on synthetic data of two million entries, with two threads."""
    from standout.data.synthetic import twin_dataset

    data = twin_dataset(SPEED_RECORDS)
    began = time.perf_counter()
    found = so.frontier(data, list(SPEED_DEFENSES), targets=SPEED_TARGETS, log=print)
    seconds = time.perf_counter() - began
    settings = found.provenance["settings"]["ranking"]
    made = {
        "entries": data.n_entries,
        "records": data.n_records,
        "items": data.n_items,
        "cells": len(found.cells),
        "defenses": len(SPEED_DEFENSES),
        "targets": SPEED_TARGETS,
        "minutes": seconds / 60,
        "cores": len(os.sched_getaffinity(0)),
        "load_after": os.getloadavg()[1],
        "settings": settings,
    }
    write_whole(RESULTS / "frontier-speed.json", json.dumps(made, indent=1) + "\n")
    print(json.dumps(made))


def measure_speed_check() -> None:
    """CPU time of some cells of `speed` with the present code; it says what the wall time of all would be at most."""
    from standout.data.synthetic import twin_dataset

    data = twin_dataset(SPEED_RECORDS)
    used = []
    for text in (None, *SPEED_CHECK):
        began = time.process_time()
        if text is None:
            bench = Bench(data, RiskTest(data, None, None, SPEED_TARGETS, 0), range(SEEDS))
        bench.measure(Setting(text or UNDEFENDED, 1, so.parse_defense(text) if text else None))
        used.append(time.process_time() - began)
        print(text, f"{used[-1]:.0f} s", flush=True)
    path = RESULTS / "frontier-speed.json"
    stored = json.loads(path.read_text(encoding="utf-8"))
    stored["check"] = {"settings": list(SPEED_CHECK), "cpu_first": used[0], "cpu": used[1:]}
    write_whole(path, json.dumps(stored, indent=1) + "\n")


def code(defense: str) -> str:
    """A defense in a cell of a table."""
    return f"`{defense}`".replace("|", "\\|")


def rates(row: Mapping[str, Any]) -> list[str]:
    """The three risks of a setting with their 95 % intervals."""
    return [
        "–"
        if row[name] is None
        else f"{percent(row[name])} ({between({'low': row[f'{name}_low'], 'high': row[f'{name}_high']})})"
        for name in RISKS
    ]


def front_table(found: so.Frontier) -> list[str]:
    """Cells on the front as a Markdown table."""
    others = [m for m in ("rating", "popularity", "time", "entries") if m in found.measures]
    titles = [
        "",
        "defense",
        *RISKS,
        "strongest attack",
        "loss, NDCG@10",
        *(f"loss, {SHORT[m]}" for m in others),
    ]
    rows = [r for r in sorted(numbered(found), key=lambda r: r["number"] or 0) if r["front"]]
    out = [
        "| " + " | ".join(titles) + " |",
        "|---:|---|---:|---:|---:|---|---:|" + "---:|" * len(others),
    ]
    for r in rows:
        cells = [
            r["number"],
            code(r["defense"]),
            *rates(r),
            r["attack"],
            f"{100 * r['cost']:.1f} ± {100 * r['noise']:.1f} %",
            *(f"{100 * r[f'{m}_loss']:.0f} %" for m in others),
        ]
        out.append("| " + " | ".join(map(str, cells)) + " |")
    return out


def whole_table(found: so.Frontier) -> list[str]:
    """All cells as a Markdown table."""
    out = [
        "| defense | unique | found | sure | clear effect | strongest attack | loss, NDCG@10 | people kept | entries kept |",
        "|---|---:|---:|---:|---|---|---:|---:|---:|",
    ]
    for r in sorted(found.rows(), key=lambda r: (-r["rate"], r["cost"])):
        cells = [
            code(r["defense"]),
            *rates(r),
            "" if r["clear_effect"] is None else "yes" if r["clear_effect"] else "no",
            r["attack"],
            f"{100 * r['cost']:.1f} ± {100 * r['noise']:.1f} %",
            percent(r["people"]),
            percent(r["entries"]),
        ]
        out.append("| " + " | ".join(cells) + " |")
    return out


def family(found: so.Frontier, name: str) -> list[Mapping[str, Any]]:
    """Cells of one defense, weak to strong."""
    return [c for c in found.measured if c["family"] == name]


def mean(values: list[float] | None) -> float:
    """Mean of a loss."""
    return sum(values or [0.0]) / max(len(values or []), 1)


def points(cells: list[Mapping[str, Any]]) -> str:
    """Cells in words: setting, people found, loss."""
    return "; ".join(
        f"`{c['defense']}` leaves {percent(risk_of(c)['rate'])} found and costs {100 * mean(losses(c, 'ndcg')):.0f} % "
        f"of NDCG@10 and {100 * mean(losses(c, 'entries')):.0f} % of the entries"
        for c in cells
    )


def verdicts(name: str, found: so.Frontier) -> list[str]:
    """The papers' claims, judged on what was measured here."""
    base, n = found.undefended, len(found.measured) - 1
    hit = risk_of(base)["rate"]
    popularity = found.popularity_loss or 1.0
    blurred = [
        c
        for f in (
            "round-values",
            "noise-values",
            "geometric-values",
            "coarsen-time",
            "shift-time",
            "swap-attributes",
            "drop-values",
            "drop-time",
            BARE,
        )
        for c in family(found, f)
    ]
    low = min(blurred, key=lambda c: risk_of(c)["rate"])
    useful = [
        c
        for c in found.measured
        if highest_rate(c, n) <= 0.05 and mean(losses(c, "ndcg")) < popularity / 2
    ]
    beyond = [c for c in found.measured if highest_rate(c, n) <= 0.05]
    rare = family(found, "drop-rare-items")
    return [
        "**NS08: perturbing or removing values and dates does not help.** "
        + ("Holds" if risk_of(low)["rate"] > 0.5 * hit else "Holds in part")
        + f" on {NAMES[name]}. Of {len(blurred)} settings that change or remove values or dates, the one with the lowest rate, "
        f"`{low['defense']}`, still leaves {percent(risk_of(low)['rate'])} found ({percent(hit)} undefended).",
        "**NS08: there is no defense that keeps both privacy and utility.** "
        + ("Not contradicted" if not useful else "Contradicted")
        + f" on {NAMES[name]}. Of {n} tried settings, {several(len(beyond))} shown to bring the rate below 5 %, and "
        f"{several(len(useful))} shown to do so at less than half of what personal recommendations add to a list of bestsellers "
        f"({100 * popularity / 2:.0f} % of NDCG@10). " + close_to(found),
        "**F06: the owner can protect people by dropping rare items.** "
        + ("Not confirmed" if all(highest_rate(c, n) > 0.05 for c in rare) else "Confirmed in part")
        + f" on {NAMES[name]} against an attacker who knows some values and dates: {points(rare)}.",
    ]


def several(n: int) -> str:
    """A number of settings, as the subject of a sentence."""
    return "none is" if n == 0 else "1 is" if n == 1 else f"{n} are"


def aware_words(found: so.Frontier) -> str:
    """How the attacker who knows the defense compares with those who do not."""
    rows = [r for r in found.rows() if r["adaptive"] is not None]
    naive, best = ([100 * (r["adaptive"] - r[kind]) for r in rows] for kind in ("naive", "unaware"))
    most = rows[naive.index(max(naive))]["defense"]
    return (
        f"Over {len(rows)} settings, the attacker who knows the defense finds up to {max(naive):.0f} points more than the "
        f"naive one (`{most}`) and at most {max(0.0, -min(naive)):.1f} points less. Against the best of those who do not "
        f"know it, this is up to {max(best):.1f} points more and at most {max(0.0, -min(best)):.1f} points less; the "
        f"standard error of such a difference is up to {100 * (0.5 / rows[0]['n']) ** 0.5:.0f} points."
    )


def close_to(found: so.Frontier) -> str:
    """The cheapest setting that leaves less than a fifth found, with all that it costs."""
    few = [c for c in found.measured if risk_of(c)["rate"] < 0.2]
    if not few:
        return "No setting leaves less than 20 % found."
    best = min(few, key=lambda c: mean(losses(c, "ndcg")))
    lost = {m: mean(losses(best, m)) for m in found.measures if m not in ("ndcg", "recall")}
    also = ", ".join(f"{100 * min(x, 1):.0f} % {SHORT[m]}" for m, x in lost.items() if x >= 0.05)
    left = percent(risk_of(best)["rate"])
    return (
        f"The verdict depends on what the data is for: `{best['defense']}` leaves {left} found and "
        f"costs {100 * mean(losses(best, 'ndcg')):.0f} % of NDCG@10. Its other losses: {also}."
    )


def measure_f06(folder: Path) -> None:
    """Figures 6 to 9 of F06 on MovieLens: the paper's Scoring beside an attacker who knows the defense."""
    from standout.papers import f06
    from standout.papers.mentions import read_mentions
    from standout.papers.recipe import RecipeInputs, recipes

    data = read("ml-latest-small", folder)
    setting = RecipeInputs(
        data, mentions=read_mentions(str(folder / "ml-latest-small" / "tags.csv"), data)
    )
    out: dict[str, Any] = {
        "mentioners": setting.mentions.n if setting.mentions else 0,
        "owner": [],
        "hide": [],
        "misdirect": [],
    }
    for key, figure, x in (("owner", "fig06", "threshold"), ("hide", "fig08", "hidden")):
        rows = recipes("f06", figure)[0].run(setting)
        rates = {(r[x], r["k"]): r for r in rows}
        for r in rows:
            if r["k"] == "k = 1":
                out[key].append(
                    {
                        "x": r[x],
                        "items": r.get("items_dropped"),
                        "entries": r.get("entries_dropped"),
                        "paper": r["rate"],
                        "adaptive": rates[r[x], f06.ADAPTIVE]["rate"],
                    }
                )
    rows = recipes("f06", "fig09")[0].run(setting)
    rates = {(r["strategy"], r["added"]): r["rate"] for r in rows}
    for n in f06.ADDED:
        out["misdirect"].append(
            {
                "x": n,
                "paper": rates[f06.POPULAR, n],
                "ignores": rates[f06.IGNORING_POPULAR, n],
                "adaptive": rates[f06.MISDIRECTED_ADAPTIVE, n],
            }
        )
    write_whole(RESULTS / "frontier-f06.json", json.dumps(out, indent=1) + "\n")


def f06_words() -> list[str]:
    """F06's defenses against an attacker who knows them, if they were measured."""
    path = RESULTS / "frontier-f06.json"
    if not path.exists():
        return []
    it = json.loads(path.read_text(encoding="utf-8"))
    near = min(it["owner"], key=lambda r: abs(r["entries"] - 0.28))
    safe = {
        who: next((r for r in it["owner"] if r[who] == 0), None) for who in ("paper", "adaptive")
    }
    hide, five = it["hide"][-1], next(r for r in it["misdirect"] if r["x"] == 5)
    return [
        "## F06's defenses against an attacker who knows them",
        "",
        f"`python docs/scripts/frontier.py f06`: {it['mentioners']} people who tagged movies of MovieLens latest-small, "
        "found by their tags alone (1-identified). The paper's attack is Scoring. The adaptive attacker ignores mentions "
        "of removed items, "
        "is told which share of the mentions is wrong, and uses the likelihood; against misdirection she also ignores "
        "the 100 most popular items. `standout reproduce f06` draws the curves.",
        "",
        "| defense | Scoring | adaptive |",
        "|---|---:|---:|",
        f"| none | {percent(it['owner'][0]['paper'])} | {percent(it['owner'][0]['adaptive'])} |",
        f"| owner drops items with fewer than {near['x']} ratings ({100 * near['items']:.0f} % of items, "
        f"{100 * near['entries']:.0f} % of ratings) | {percent(near['paper'])} | {percent(near['adaptive'])} |",
        f"| people hide the rarest half of their mentions | {percent(hide['paper'])} | {percent(hide['adaptive'])} |",
        f"| people add 5 popular mentions | {percent(five['paper'])} | {percent(five['adaptive'])} |",
        "",
        "**F06: dropping 28 % of the ratings protects everyone (Figs. 6, 7).** "
        + ("Not confirmed. " if near["adaptive"] > 0.05 else "Confirmed. ")
        + "Scoring finds nobody once "
        f"{100 * safe['paper']['entries']:.0f} % of the ratings are dropped; against the adaptive attacker this takes "
        f"{100 * safe['adaptive']['entries']:.0f} %.",
        "",
        "**F06: a few popular mentions misdirect the attacker (Fig. 9).** "
        + ("Holds" if five["paper"] < 0.75 * it["owner"][0]["paper"] else "Does not hold")
        + " for Scoring, "
        + ("holds" if five["adaptive"] < 0.75 * it["owner"][0]["adaptive"] else "contradicted")
        + " for an attacker who knows the defense.",
        "",
    ]


def speed_words() -> list[str]:
    """The measured time, if it was measured."""
    path = RESULTS / "frontier-speed.json"
    if not path.exists():
        return []
    s = json.loads(path.read_text(encoding="utf-8"))
    out = [
        "## Time",
        "",
        f"{s['entries']:,} entries ({s['records']:,} people, {s['items']:,} items, synthetic), {s['defenses']} defenses at "
        f"up to 3 strengths ({s['cells']} cells with the undefended data), {s['targets']} targets, 3 splits: "
        f"**{s['minutes']:.1f} minutes** on {s['cores']} cores (`python docs/scripts/frontier.py speed`; 5-minute load of "
        f"the machine at the end: {s['load_after']:.1f}).",
        "",
    ]
    if check := s.get("check"):
        each = sum(check["cpu"]) / len(check["cpu"])
        whole = (check["cpu_first"] + each * (s["cells"] - 1)) / 60
        out += [
            f"CPU time of some of these cells with later code (`python docs/scripts/frontier.py speed-check`): "
            f"{check['cpu_first']:.0f} s for the undefended data, with the tuning of the models and the preparation of the "
            f"splits; {min(check['cpu']):.0f} to {max(check['cpu']):.0f} s for each of {len(check['cpu'])} settings. All "
            f"{s['cells']} cells take about {whole:.0f} minutes of CPU time at this rate, an estimate.",
            "",
        ]
    return out


def page() -> str:
    """The page as Markdown."""
    text = (DOCS / "scripts" / "frontier_intro.md").read_text(encoding="utf-8")
    lines = [text.rstrip(), ""]
    for name, title in NAMES.items():
        path = RESULTS / f"frontier-{name}.json"
        if not path.exists():
            continue
        found = so.Frontier.load(path)
        drawn = found.chart()
        it, people = found.provenance, found.undefended.utility[0].n_people
        model = ", ".join(f"{k} {v:g}" for k, v in it["settings"]["ranking"].items())
        lines += [
            f"## {title}",
            "",
            f"`python docs/scripts/frontier.py {name}`",
            "",
            f"> {found.sentence}",
            "",
            f"![{drawn.title}, {title}](images/frontier-{name}.png)",
            "",
            "The numbers in the chart are those of the first column: settings with a clear effect that no other one measurably "
            "beats. Each rate has its 95 % interval; – is not measured.",
            "",
            *front_table(found),
            "",
            f"{it['n_targets']:,} targets ({it['n_reported']:,} reported), {people:,} people tested "
            f"for recommendations. Tuned settings of ALS: {model}. Recommending bestsellers to everyone loses "
            f"{100 * (found.popularity_loss or 0):.0f} % of NDCG@10 (dashed line).",
            "",
            aware_words(found),
            "",
            "<details><summary>All settings</summary>",
            "",
            *whole_table(found),
            "",
            "</details>",
            "",
            "### The claims of the papers",
            "",
            *[x for v in verdicts(name, found) for x in (v, "")],
        ]
    return "\n".join([*lines, *f06_words(), *speed_words()]).rstrip() + "\n"


def main() -> None:
    """Run one of the commands."""
    what = sys.argv[1] if len(sys.argv) > 1 else "page"
    if what == "speed":
        measure_speed()
    elif what == "speed-check":
        measure_speed_check()
    elif what in (*NAMES, "f06", "risk"):
        folder = sys.argv[2] if len(sys.argv) > 2 else os.environ.get("STANDOUT_DATA", "")
        if not folder:
            sys.exit("set STANDOUT_DATA to the folder with ml-latest-small and online-retail")
        if what == "f06":
            measure_f06(Path(folder))
        elif what == "risk":
            measure_risk(Path(folder), *sys.argv[3:4])
        else:
            measure(what, Path(folder))
    elif what != "page":
        sys.exit(
            f"no command {what!r}: use {', '.join(NAMES)}, f06, risk, speed, speed-check or page"
        )
    write_whole(DOCS / "frontier.md", page())


if __name__ == "__main__":
    main()
