"""`unicity`: share of people whose record alone contains p random points, by the resolution of place and time."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.eligible import none_eligible
from standout.adversary.knowledge import Knowledge
from standout.arrays import Array
from standout.attacks.unique import is_unique
from standout.audit.findings import strict_json, write_whole
from standout.data.catalog import check_dataset
from standout.data.dataset import Dataset
from standout.data.loading import in_memory
from standout.data.positions import LAT, LON, is_position
from standout.data.whole_file import check_regular
from standout.engines.engine import Engine
from standout.errors import EligibilityError, InputError, ParameterError
from standout.experiment.progress import Progress, reporting
from standout.experiment.subject import target_number
from standout.formulas.rates import Rate
from standout.kernels.moments import Periods
from standout.results import Count, Positive, from_plain, to_plain
from standout.views.grid import GridView
from standout.views.groups import GroupsView
from standout.views.view import View, view_of

if TYPE_CHECKING:
    import pandas as pd

TARGETS = 2500
"""People by default, as in the paper."""
EDGES = ("100m", "1km", "10km")
PERIODS = ("hour", "6h", "day", "week")
"""Resolutions by default, as far as the data has them."""
ITEM = "item"
"""A place as the data names it."""
UNKNOWN = "none"
"""Times that are not known."""

_SECONDS = {"min": 60, "h": 3600, "hour": 3600, "d": 86_400, "day": 86_400, "w": 604_800}
_SECONDS["week"] = _SECONDS["w"]
_CALENDAR = ("month", "year")
_MONDAY = 3 * 86_400
"""Seconds from the Monday before 1970-01-01 to that day."""


@dataclass(frozen=True)
class UnicityCell:
    """One resolution of place and time: people whose record is the only one that contains their known points."""

    points: Positive
    place: str
    """Edge of the cells of the grid, a view, or "item"."""
    time: str
    """Length of the periods, or "none"."""
    unique: Rate


@dataclass(frozen=True, repr=False)
class UnicityTable:
    """Unicity by the resolution of place and time, on the same people and the same points."""

    n_records: Count
    n_eligible: Count
    """People with enough points."""
    n_people: Count
    """People who were drawn among them."""
    n_points: Count
    """Entries that have what the resolutions need."""
    n_left_out: Count
    """Entries without a place or a time, which are in no record."""
    seed: int
    cells: tuple[UnicityCell, ...]

    def to_frame(self) -> pd.DataFrame:
        """One row per cell, as a pandas frame: points, place, time, count, n, unique, low, high."""
        import pandas as pd

        rows = [
            {
                "points": one.points,
                "place": one.place,
                "time": one.time,
                "count": int(one.unique.count),
                "n": one.unique.n,
                "unique": one.unique.rate,
                "low": one.unique.low,
                "high": one.unique.high,
            }
            for one in self.cells
        ]
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        return dict(to_plain(self))

    def save(self, path: str | Path) -> Path:
        """Write the result as JSON, completely or not at all."""
        text = json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False)
        return write_whole(path, text + "\n")

    @classmethod
    def load(cls, path: str | Path) -> UnicityTable:
        """Read what `save` wrote."""
        name = f"unicity {str(path)!r}"
        try:
            content = strict_json(check_regular(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"cannot read {name}: {error.strerror}") from None
        except (ValueError, RecursionError):
            raise InputError(f"{name} is not JSON") from None
        return from_plain(cls, content, name)

    def __repr__(self) -> str:
        return f"<UnicityTable of {self.n_people:,} people, {len(self.cells)} cells>"


def unicity(
    source: Dataset,
    points: int | Sequence[int] = 4,
    places: Sequence[str | View] | None = None,
    times: Sequence[str] | None = None,
    *,
    targets: int | str | None = TARGETS,
    seed: int = 0,
    engine: str | Engine = "memory",
    progress: Progress | bool | None = None,
) -> UnicityTable:
    """Share of people whose record is the only one that contains p random points (de Montjoye et al. 2013).

    A point is a place and a time. The points of a person are drawn once, among those that the data
    has at its own resolution: a point is as likely as it has entries, and no point is drawn twice.
    They are then shown more coarsely, cell by cell of the result. So all cells are about the same
    people and the same points, and nobody drops out where points become equal.

    Parameters
    ----------
    source
        The data, in memory.
    points
        Number p of points, or several numbers.
    places
        Resolutions of places: edges of the cells of a grid ("100m", "1km"), "item" for the places as
        the data names them, or a view of groups ("groups:districts.csv"). Default: 100 m, 1 km and
        10 km in data with latitude and longitude, else "item".
    times
        Lengths of periods: "15min", "hour", "6h", "day", "week", "month", "year", or "none". Periods
        are counted from midnight of 1970-01-01, weeks begin on Monday. Default: hour, 6h, day and
        week, as far as the data has them.
    targets
        Number of people, drawn at random among those who have as many points as the largest p;
        "all" or None for all of them.
    seed
        Random seed.
    engine
        Name of an engine, or an engine.
    progress
        As in `Audit.run`.

    Examples
    --------
    >>> import standout as so
    >>> data = so.Dataset.from_arrays([0, 0, 1, 1], ["a", "b", "a", "b"], time=[0, 1, 0, 2])
    >>> so.unicity(data, points=2, times=["day", "week"]).to_frame()[["time", "unique"]].values.tolist()
    [['day', 1.0], ['week', 0.0]]
    """
    check_dataset(source, "source")
    data = in_memory(source, "unicity")
    numbers = _numbers(points)
    shown = _places(data, places)
    periods = _times(data, times)
    kept, finest = _finest(data, shown, periods)
    drawn_from = _with_points(data, kept, finest[kept])
    who = [Adversary(p, value_within=None, choose="event") for p in numbers]
    largest = who[int(np.argmax(numbers))]
    n_eligible, people = largest.choose_targets(drawn_from, target_number(targets), seed)
    if people.size == 0:
        raise EligibilityError(none_eligible(largest, drawn_from))
    people = np.sort(people)
    known = [one.sample(drawn_from, people, seed) for one in who]
    cells, n_cells = [], len(shown) * len(periods) * len(numbers)
    with reporting(progress) as report:
        for place, of_place in shown.items():
            for time, of_time in periods.items():
                _, coarse = np.unique(
                    np.stack([of_place[kept], of_time[kept]]), axis=1, return_inverse=True
                )
                coarse = coarse.reshape(-1)
                seen = _with_points(data, kept, coarse)
                # all entries of a point of the finest resolution are in one point of this one
                coarser = np.zeros(drawn_from.n_items, np.int64)
                coarser[finest[kept]] = coarse
                for p, facts in zip(numbers, known, strict=True):
                    alone = is_unique(seen, _known(facts, coarser), people, engine)
                    cells.append(UnicityCell(p, place, time, Rate.of(alone)))
                    report(f"{place}, {time}", len(cells), n_cells)
    return UnicityTable(
        data.n_records,
        n_eligible,
        int(people.size),
        int(kept.sum()),
        int(kept.size - kept.sum()),
        int(seed),
        tuple(sorted(cells, key=lambda one: numbers.index(one.points))),
    )


def _known(facts: Knowledge, coarser: Array) -> Knowledge:
    """The known points at a coarser resolution, each once."""
    query = np.repeat(np.arange(facts.n_queries), np.diff(facts.query_ptr))
    both = np.unique(np.stack([query, coarser[np.asarray(facts.item, np.int64)]]), axis=1)
    return Knowledge.from_arrays(both[0], both[1])


def _with_points(data: Dataset, kept: Array, point: Array) -> Dataset:
    """The data with numbered points as items, and the same records."""
    made = data.with_entries(
        kept, item=point, item_labels=np.arange(int(point.max(initial=-1)) + 1)
    )
    # random draws start from the contents of the record as it was
    made.__dict__["lazy_keys"] = data.lazy_keys
    return made


def _numbers(points: int | Sequence[int]) -> list[int]:
    """Numbers of points."""
    given = [points] if isinstance(points, int | np.integer) else list(points)
    if not given or any(
        isinstance(p, bool) or not isinstance(p, int | np.integer) or p < 1 for p in given
    ):
        raise ParameterError(f"points={points!r}: use a whole number ≥ 1, or several")
    return [int(p) for p in dict.fromkeys(given)]


def _places(data: Dataset, places: Sequence[str | View] | None) -> dict[str, Array]:
    """Number of the place of each entry, -1 = none, by resolution."""
    if places is None:
        places = EDGES if is_position([one.name for one in data.channels]) else (ITEM,)
    made: dict[str, Array] = {}
    for one in [places] if isinstance(places, str | View) else places:
        if one == ITEM:
            made[ITEM] = data.record_item.astype(np.int64)
            continue
        is_edge = isinstance(one, str) and re.match(r"\s*\d", one)
        view = GridView(str(one)) if is_edge else view_of(one)
        if isinstance(view, GridView):
            made[view.text.removeprefix("grid:")] = view.cells(data)[1]
        elif isinstance(view, GroupsView):
            made[view.text] = view.only_group(data)
        else:
            raise ParameterError(
                f"places: {one!r} is no place: use edges of a grid such as 500m, item, or groups:FILE.csv"
            )
    if not made:
        raise ParameterError("places is empty: name at least one, such as 500m or item")
    return made


def _times(data: Dataset, times: Sequence[str] | None) -> dict[str, Array]:
    """Number of the period of each entry, -1 = no time, by resolution."""
    if times is None:
        times = [one for one in PERIODS if _fits(data, one)] if data.has_time else [UNKNOWN]
    made = {}
    for one in [times] if isinstance(times, str) else times:
        if one == UNKNOWN:
            made[UNKNOWN] = np.zeros(data.n_entries, np.int64)
            continue
        if not data.has_time:
            raise ParameterError(
                f"times: {one!r}: the data has no times; name their column with time="
            )
        if not _fits(data, one):
            raise ParameterError(
                f"times: {one!r} is shorter than a {data.time_resolution}, or no whole number of them, and times of this data "
                f"are kept to the {data.time_resolution}: read it with a finer resolution (--resolution)"
            )
        made[one] = _periods(data, one)
    if not made:
        raise ParameterError("times is empty: name at least one, such as day, or none")
    return made


def _length(text: str) -> tuple[int, str]:
    """Number and unit of a period.

    >>> _length("6h"), _length("week")
    ((6, 'h'), (1, 'week'))
    """
    units = "|".join([*_SECONDS, *_CALENDAR])
    found = re.fullmatch(rf"(\d*)\s*({units})s?", str(text).strip())
    n = int(found[1] or 1) if found else 0
    if found is None or not n or (n > 1 and found[2] in _CALENDAR):
        raise ParameterError(
            f"times: {text!r}: use periods such as 15min, hour, 6h, day, week, month, year, or none"
        )
    return n, found[2]


def _fits(data: Dataset, text: str) -> bool:
    """Whether a period is a whole number of the data's ticks."""
    n, unit = _length(text)
    seconds = n * _SECONDS.get(unit, _SECONDS["day"])
    return seconds * data.ticks_per_day % _SECONDS["day"] == 0


def _periods(data: Dataset, text: str) -> Array:
    """Number of the period of each entry, -1 = no time."""
    n, unit = _length(text)
    tick, place = np.unique(data.record_tick, return_inverse=True)
    second = (tick.astype(np.int64) + data.first_tick) * (_SECONDS["day"] // data.ticks_per_day)
    if unit in _CALENDAR:
        begin = Periods(unit).draw(second // _SECONDS["day"])
    else:
        begin = (second + (_MONDAY if unit in ("w", "week") else 0)) // (n * _SECONDS[unit])
    number = np.unique(begin, return_inverse=True)[1].reshape(-1)
    return np.asarray(np.where(tick == data.no_tick, -1, number)[place.reshape(-1)])


def _finest(
    data: Dataset, places: dict[str, Array], periods: dict[str, Array]
) -> tuple[Array, Array]:
    """Which entries have what the resolutions need, and the number of the point of each at the data's own resolution."""
    kept = np.ones(data.n_entries, np.bool_)
    for number in (*places.values(), *periods.values()):
        kept &= number >= 0
    columns = [data.record_item]
    if data.further is not None and is_position([one.name for one in data.channels]):
        named = [data.further.named(name) for name in (LAT, LON)]
        columns += [data.further.level(one)[data.further.code] for one in named]
    if any(time != UNKNOWN for time in periods):
        columns.append(data.record_tick)
    point = np.zeros(data.n_entries, np.int64)
    for column in columns:
        width = int(column.max(initial=0)) + 1
        point = np.unique(point * width + column, return_inverse=True)[1].reshape(-1)
    point[kept] = np.unique(point[kept], return_inverse=True)[1].reshape(-1)
    return kept, point
