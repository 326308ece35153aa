"""MovieLens with genres in place of films: who is unique is what a join of the two files says."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import standout as so
from standout.attacks.unique import is_unique
from standout.extend import GroupsView

FOLDER = Path(os.environ.get("STANDOUT_DATA", ""), "ml-latest-small")

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="ml-latest-small is not in STANDOUT_DATA"),
]


def test_who_is_unique_by_genres_is_what_a_join_of_the_files_says(tmp_path):
    data = so.Dataset.read(FOLDER / "ratings.csv.gz", resolution="day")
    films = pd.read_csv(FOLDER / "movies.csv.gz")
    genres = films.assign(genre=films["genres"].str.split("|")).explode("genre")[
        ["movieId", "genre"]
    ]
    genres.to_csv(tmp_path / "genres.csv", index=False)
    view = f"groups:{tmp_path / 'genres.csv'}"
    who = so.Adversary(knows=2, value_within=0, time_within=7, view=view)
    targets = who.choose_targets(data, 150, seed=1)[1]
    aux = who.sample(data, targets, seed=1)

    joined = _joined(data, genres)
    fits = np.ones((targets.size, data.n_records), bool)
    for query, lo in enumerate(aux.query_ptr[:-1].tolist()):
        for fact in range(lo, lo + 2):
            told = joined[joined["genre"] == aux.item[fact]]
            near = (told["day"] - aux.time[fact]).abs() <= 7
            holders = told[near & (told["value"] == aux.value[fact])]["record"].to_numpy()
            fits[query] &= np.isin(np.arange(data.n_records), holders)
    assert fits[np.arange(targets.size), targets].all()
    alone = fits.sum(axis=1) == 1
    assert 0.2 < alone.mean() < 0.99
    np.testing.assert_array_equal(is_unique(data, aux, targets), alone)
    # genres say less than films
    plain = so.Audit(data, [who, who.without_view], ["unicity"], 150, seed=1).run()
    assert plain.results[0]["unique"]["rate"] < plain.results[1]["unique"]["rate"]
    notes = [w for w in plain.warnings if w.startswith("View")]
    assert notes == [
        f"View groups:genres.csv: {len(films) - data.n_items} items of the map are not in the data."
    ]
    assert GroupsView(genres).words == "items known as groups"


def _joined(data, genres):
    """One row per rating and genre."""
    rows = pd.DataFrame(
        {
            "record": np.repeat(np.arange(data.n_records), np.diff(data.record_ptr)),
            "movieId": data.item_labels[data.record_item],
            "value": data.levels[data.record_code],
            "day": data.record_tick + data.first_tick,
        }
    )
    return rows.merge(genres, on="movieId")
