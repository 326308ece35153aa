"""`hour-of-day` and `weekday`: the hour or the day of the week of each entry, as a further channel.

`view.py` loads the module by the name of the view.
"""

from __future__ import annotations

from abc import abstractmethod
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from standout.arrays import Array
from standout.data.adding import with_channels
from standout.data.dataset import Dataset
from standout.data.scale import Channel
from standout.errors import InputError, ParameterError
from standout.views.view import View, register_view

_DAY = 86_400
_SLOT = 900
"""Seconds in which the offset of a time zone is taken as constant: clocks change at a quarter of an hour."""
_START = datetime(1970, 1, 1, tzinfo=UTC)


class ClockView(View):
    """A view that adds a channel read from a clock: a circle of whole numbers.

    Parameters
    ----------
    zone
        Time zone of the clock, such as "Europe/Berlin". Times of the data are in UTC; times that
        were read without a zone show their own clock in "UTC".
    """

    channel: str
    period: int

    def __init__(self, zone: str = "UTC") -> None:
        try:
            self._clock = None if zone == "UTC" else ZoneInfo(zone)
        except (ValueError, OSError, LookupError):
            raise ParameterError(
                f"no time zone is named {zone!r}: use a name like Europe/Berlin, or leave it out for UTC"
            ) from None
        self.zone = zone

    @property
    def text(self) -> str:
        """The view with its time zone."""
        return self.name if self.zone == "UTC" else f"{self.name}:{self.zone}"

    @property
    def content(self) -> str:
        """What the view does."""
        return self.text

    def apply(self, dataset: Dataset) -> Dataset:
        """Return the dataset with the further channel; entries without a time have none."""
        if not dataset.has_time:
            raise ParameterError(
                f"view {self.text!r} needs times: name a time column, or leave the view out"
            )
        if dataset.time_resolution == "day" and self.needs_hours:
            raise ParameterError(
                f"view {self.text!r} needs times finer than a day: read the data with resolution='hour' (--resolution hour)"
            )
        channel = Channel(self.channel, np.arange(float(self.period)), period=float(self.period))
        tick, place = np.unique(dataset.record_tick, return_inverse=True)
        code = np.full(tick.size, self.period, np.int64)
        timed = tick != dataset.no_tick
        seconds = (tick[timed].astype(np.int64) + dataset.first_tick) * (
            _DAY // dataset.ticks_per_day
        )
        code[timed] = self.read_clock(seconds + self._offset(seconds))
        return with_channels(dataset, [(channel, code[place.reshape(-1)])])

    @property
    @abstractmethod
    def needs_hours(self) -> bool:
        """Whether times to the day are not enough."""

    @abstractmethod
    def read_clock(self, seconds: Array) -> Array:
        """int64: level of each time, in seconds of the clock since 1970-01-01."""

    def _offset(self, seconds: Array) -> Array:
        """Seconds by which the clock is ahead of UTC at each time."""
        if self._clock is None:
            return np.zeros(seconds.size, np.int64)
        slot, place = np.unique(seconds // _SLOT, return_inverse=True)
        try:
            zoned = [
                (_START + timedelta(seconds=_SLOT * s)).astimezone(self._clock)
                for s in slot.tolist()
            ]
        except OverflowError:
            raise InputError(
                f"view {self.text!r}: some times lie outside the years 1 to 9999, for which no time zone is known; check "
                "the unit of the times (--time-unit)"
            ) from None
        ahead = [round(x.utcoffset().total_seconds()) for x in zoned]  # type: ignore[union-attr]
        return np.asarray(np.array(ahead, np.int64)[place.reshape(-1)])


@register_view("hour-of-day")
class HourView(ClockView):
    """Add the channel `hour`: 0 to 23, a circle, so that 23 and 0 are one hour apart."""

    channel, adds, period, needs_hours = "hour", ("hour",), 24, True

    @property
    def words(self) -> str:
        """What is added."""
        return f"hours of day in {self.zone}"

    def read_clock(self, seconds: Array) -> Array:
        """Return the hour of each time."""
        return np.asarray(seconds // 3600 % 24)


@register_view("weekday")
class WeekdayView(ClockView):
    """Add the channel `weekday`: 0 = Monday to 6 = Sunday, a circle."""

    channel, adds, period = "weekday", ("weekday",), 7

    @property
    def words(self) -> str:
        """What is added."""
        return f"weekdays (0 = Monday) in {self.zone}"

    @property
    def needs_hours(self) -> bool:
        """Whether the clock is another than that of the data: a date has no time zone."""
        return self.zone != "UTC"

    def read_clock(self, seconds: Array) -> Array:
        """Return the weekday of each time; 1970-01-01 was a Thursday."""
        return np.asarray((seconds // _DAY + 3) % 7)
