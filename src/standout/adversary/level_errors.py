"""Errors of what is known on the level channels: which levels agree with it, and how likely each is.

`LevelErrors` has one part per known channel of a dataset. Known levels are one number per fact
where the value alone is known, and one row of numbers per fact, a column per channel, where the
dataset has joint codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from standout.arrays import Array
from standout.data.channels import JointDataset
from standout.data.scale import ValueScale
from standout.data.values import ROUNDING
from standout.kernels.levels import ErrorKernel, LevelKernel, Relative, Uniform

if TYPE_CHECKING:
    from standout.data.catalog import Catalog

_SLACK = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class ChannelError:
    """The error of one known channel."""

    channel: ValueScale
    kernel: ErrorKernel
    reach: Array
    """(levels,): largest error, with that of rounding; wrong levels lie farther off."""
    level: Array | None = None
    """(codes + 1): level of each joint code, the number of levels = none; None where codes are levels."""
    given: bool = False
    """Whether this is an attribute of the person: it is never wrong."""

    def of_code(self, code: Array) -> tuple[Array, Array]:
        """Level of each code, and whether there is one; 0 where there is none."""
        if self.level is None:
            return code, np.ones(np.shape(code), np.bool_)
        level = self.level[code]
        some = level < self.channel.n_levels
        return np.where(some, level, 0), some

    def inside(self, known: Array, code: Array) -> Array:
        """Bool: whether the level is within its reach of the known one, pair by pair; False where one is missing."""
        level, some = self.of_code(code)
        gap = self.channel.gap(known, self.channel.levels[level])
        return np.asarray(some & (gap <= self.reach[level]))

    def wrong(self, known: Array, which: Array, code: Array) -> Array:
        """Probability of each known level if it is wrong: uniform over the levels outside the reach of the true one.

        Parameters
        ----------
        known
            Distinct known levels.
        which, code
            Pairs of an index into `known` and a code.
        """
        level, some = self.of_code(code)
        unit = spread(known, self.channel, self.kernel)
        n_outside = self.channel.n_outside(self.reach)
        rounding = ROUNDING * np.abs(known)
        at = np.clip(
            np.searchsorted(self.channel.levels, known - rounding), 0, self.channel.n_levels - 1
        )
        is_level = (np.abs(self.channel.levels[at] - known) <= rounding) | (unit != 1.0)
        off = self.channel.gap(known[which], self.channel.levels[level]) > self.reach[level]
        return np.asarray(
            (some & off & is_level[which]) * unit[which] / np.maximum(n_outside, 1)[level]
        )

    def can_be_wrong(self) -> Array:
        """Bool (levels): whether some other level lies outside the tolerance."""
        if self.given:
            return np.zeros(self.channel.n_levels, np.bool_)
        return self.channel.n_outside(self.reach) > 0


class LevelErrors:
    """Errors of all known level channels of a dataset."""

    def __init__(self, parts: tuple[ChannelError, ...]) -> None:
        self.parts = parts

    @property
    def is_joint(self) -> bool:
        """Whether codes are joint codes of channels, and known levels are rows."""
        return self.parts[0].level is not None

    @property
    def kernel(self) -> LevelKernel:
        """P(known levels | code) of right facts."""
        if not self.is_joint:
            return self.parts[0].kernel
        return JointKernel(tuple((p.channel, p.level, p.kernel) for p in self.parts))

    def columns(self, known: Array) -> list[Array]:
        """Known levels, channel by channel."""
        return [known] if not self.is_joint else list(np.moveaxis(known, -1, 0))

    def inside(self, known: Array, code: Array) -> Array:
        """Bool: whether the code agrees with all known levels, and lacks what is not known, pair by pair."""
        out = np.ones(
            np.broadcast_shapes(np.shape(known)[: np.ndim(code)], np.shape(code)), np.bool_
        )
        for part, column in zip(self.parts, self.columns(known), strict=True):
            gone = np.isnan(column)
            missing = ~part.of_code(code)[1]
            out &= np.where(gone, missing, part.inside(np.nan_to_num(column), code))
        return out

    def outside(self, known: Array, code: Array) -> Array:
        """Bool: whether the code has exactly the known channels and disagrees with each of them, pair by pair.

        Attributes of the person are never wrong.
        """
        out = self.complete(known, code)
        for part, column in zip(self.parts, self.columns(known), strict=True):
            wrong = ~part.inside(np.nan_to_num(column), code)
            out &= np.isnan(column) | (False if part.given else wrong)
        return out

    def complete(self, known: Array, code: Array) -> Array:
        """Bool: whether a code has exactly the channels that are known, pair by pair."""
        out = np.ones(np.shape(code), np.bool_)
        for part, column in zip(self.parts, self.columns(known), strict=True):
            out &= np.isnan(column) != part.of_code(code)[1]
        return out

    def wrong(self, known: Array, which: Array, code: Array) -> Array:
        """Probability of the known levels if all of them are wrong, pair by pair; `which` indexes rows of `known`."""
        out = np.ones(np.broadcast_shapes(np.shape(which), np.shape(code)))
        for part, column in zip(self.parts, self.columns(known), strict=True):
            gone = np.isnan(column)
            each = part.wrong(np.nan_to_num(column), which, code)
            out *= np.where(gone[which], ~part.of_code(code)[1], each)
        return out

    def can_be_wrong(self, n_codes: int) -> Array:
        """Bool (codes): whether each channel that the code has can be wrong."""
        out, some = np.ones(n_codes, np.bool_), np.zeros(n_codes, np.bool_)
        for part in self.parts:
            level, there = part.of_code(np.arange(n_codes))
            out &= ~there | part.can_be_wrong()[level]
            some |= there
        return out & some

    def spread(self, known: Array) -> Array:
        """Per row of known levels: unit of its probabilities (`spread`)."""
        out = np.ones(known.shape[0])
        for part, column in zip(self.parts, self.columns(known), strict=True):
            some = ~np.isnan(column)
            out[some] *= spread(column[some], part.channel, part.kernel)
        return out


@dataclass(frozen=True, eq=False, repr=False)
class JointKernel(LevelKernel):
    """Kernel of joint codes: a product over channels, each with a kernel of its own.

    A level that is not known counts 1. A level that the entry lacks counts the mean over all levels.
    """

    parts: tuple[tuple[ValueScale, Array | None, LevelKernel], ...]
    """Scale, level of each code, and kernel of each channel, in the order of the columns of what is known."""

    def chances(self, known: Array, code: Array, levels: Array) -> Array:
        """K(known levels | code), pair by pair; `levels` is not used."""
        out = np.ones(np.broadcast_shapes(known.shape[:-1], np.shape(code)))
        for k, (scale, level_of, kernel) in enumerate(self.parts):
            assert level_of is not None
            column, level = np.broadcast_arrays(known[..., k], level_of[code])
            some, there = ~np.isnan(column), level < scale.n_levels
            both = some & there
            out[both] *= kernel.chances(column[both], level[both], scale.levels)
            if (lone := some & ~there).any():
                seen, at = np.unique(column[lone], return_inverse=True)
                mean = kernel.sums(seen, scale.levels, np.ones(scale.n_levels)).weighted
                out[lone] *= mean[at.reshape(-1)] / scale.n_levels
        return out

    def table(self, known: Array, levels: Array) -> Array:
        """(facts, codes): K(known levels | code)."""
        return self.chances(known[:, None, :], np.arange(levels.size)[None, :], levels)


def spread(known: Array, scale: ValueScale, kernel: LevelKernel | None) -> Array:
    """Per known level: unit of its row; 1 for probabilities, levels per unit of the scale for densities.

    Real-valued noise gives densities between the ends of the scale. A wrong level is drawn from the
    levels, which would reveal it; it is treated as spread over the scale instead, so that the
    attack does not use this artifact.
    """
    low, high = scale.scale_ends
    if not isinstance(kernel, Uniform | Relative) or high <= low:
        return np.ones(known.size)
    margin = _SLACK * (high - low)
    inside = (known > low + margin) & (known < high - margin)
    moved = kernel.sums(known, scale.levels, np.zeros(scale.n_levels)).moved
    # a level that does not move keeps its probability of 1
    return np.where(inside & moved, scale.n_levels / (high - low), 1.0)


def is_known(levels: Array) -> Array:
    """Bool (facts): whether the level of some channel is known."""
    known = ~np.isnan(levels)
    return known if known.ndim == 1 else np.asarray(known.any(axis=1))


def distinct_levels(levels: Array) -> tuple[Array, Array]:
    """Distinct known levels, numbers or rows of them, and the place of each fact among them."""
    if levels.ndim == 1:
        distinct, place = np.unique(levels, return_inverse=True)
        return distinct, place.reshape(-1)
    # as integers, so that missing levels are equal to each other
    bits = np.ascontiguousarray(levels + 0.0).view(np.int64)
    distinct, place = np.unique(bits, axis=0, return_inverse=True)
    return distinct.view(np.float64), place.reshape(-1)


def channels_of(dataset: Catalog) -> list[tuple[str, ValueScale, Array | None]]:
    """Name and scale of the level channels that codes of the dataset stand for, with the level of each joint code."""
    if isinstance(dataset, JointDataset):
        scales = enumerate(dataset.channels_read)
        return [(channel.name, channel, dataset.level(k)) for k, channel in scales]
    return [("value", dataset, None)] if dataset.has_value else []
