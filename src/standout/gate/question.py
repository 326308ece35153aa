"""`Question`: is one rate below its limit? One adversary, one attack, one group of targets."""

from __future__ import annotations

from dataclasses import dataclass, field

from standout.formulas.exact_tests import fewest_to_pass, look_shares, over_looks, p_above, p_below
from standout.formulas.rates import at_least, at_most
from standout.gate.groups import Group
from standout.gate.measure import Progress, tested
from standout.gate.policy import Limit
from standout.gate.words import percent


@dataclass(eq=False)
class Question:
    """Tests of one rate against its limit, at each look at the data."""

    limit: Limit
    sofar: Progress
    label: str
    alpha: float
    n_looks: int
    least: int
    """Targets of the adversary below which the answer is never "met"."""
    hidden_below: int = 0
    """Groups with fewer targets are shown without their counts."""
    n: int = 0
    count: int = 0
    below: list[float] = field(default_factory=list)
    above: list[float] = field(default_factory=list)
    uppers: list[float] = field(default_factory=list)
    lowers: list[float] = field(default_factory=list)

    @property
    def group(self) -> Group | None:
        """Group of people that the rate is about; None = all who are eligible."""
        return self.sofar.group

    @property
    def scale(self) -> float:
        """Factor from the tested rate to the rate that the limit is about."""
        return self.sofar.share if self.limit.of == "all" else 1.0

    @property
    def tested_limit(self) -> float:
        """The limit as a limit of the rate among eligible targets."""
        return min(1.0, self.limit.max / self.scale) if self.scale > 0 else 1.0

    @property
    def is_hidden(self) -> bool:
        """Whether the group is so small that its counts are not shown."""
        return self.group is not None and self.n < self.hidden_below

    @property
    def always_met(self) -> bool:
        """Whether so few records are eligible that the limit holds even if all of them are found."""
        return self.limit.of == "all" and self.scale <= self.limit.max

    def look(self) -> None:
        """Test with the targets attacked so far."""
        self.n, self.count = tested(self.sofar.counts(self.label), self.limit.measure)
        alpha = self.alpha * look_shares(self.n_looks)[len(self.below)]
        self.below.append(p_below(self.count, self.n, self.tested_limit))
        self.above.append(p_above(self.count, self.n, self.tested_limit))
        self.uppers.append(at_most(self.count, self.n, 1 - alpha))
        self.lowers.append(at_least(self.count, self.n, 1 - alpha) if self.n else 0.0)

    @property
    def cannot_fail(self) -> str:
        """Why no data could exceed the limit, or its measure is not defined; nothing if it can be judged."""
        who = self.sofar.who
        if self.is_undefined:
            what = "use a whole number of wrong facts" if who.wrong_varies else "use found"
            return f"{self.sofar.words}: {self.sofar.not_unique}; {what}"
        if self.limit.max >= 1:
            return "no rate exceeds a limit of 100%, so the limit cannot fail; lower max"
        some_right = (
            1 - who.wrong_share**who.knows
            if who.wrong_varies
            else float(who.most_wrong < who.knows)
        )
        if some_right <= self.limit.max:
            return f"{self.sofar.words}: with all facts wrong, the limit cannot fail; lower wrong"
        n = self.sofar.n_eligible
        if n == 0 or (self.always_met and n < fewest_to_pass(self.limit.max, self.alpha)):
            few = f"{n or 'no'} record{'s hold' if n > 1 else ' holds'} enough items for this adversary"
            return f"{few}, so the limit cannot fail; lower knows"
        return ""

    @property
    def p_met(self) -> float:
        """P-value of "the rate is at least the limit"; small = the limit is kept."""
        if self.always_met:
            return 0.0
        return over_looks(self.below, look_shares(self.n_looks)) if self.below else 1.0

    @property
    def p_exceeded(self) -> float:
        """P-value of "the rate is at most the limit"; small = the limit is exceeded."""
        if self.always_met or not self.above:
            return 1.0
        return over_looks(self.above, look_shares(self.n_looks))

    @property
    def is_done(self) -> bool:
        """Whether it was measured, or there is nothing to measure."""
        return (
            bool(self.below) or self.always_met or self.sofar.targets.size == 0 or self.is_undefined
        )

    @property
    def is_undefined(self) -> bool:
        """Whether the measure is not defined for this adversary."""
        return self.limit.measure == "unique" and bool(self.sofar.not_unique)

    @property
    def is_met(self) -> bool:
        """Whether the rate is shown to be below the limit."""
        if self.cannot_fail:
            return False
        return self.always_met or (
            self.sofar.attacked(self.label) >= self.least and self.p_met <= self.alpha
        )

    @property
    def upper(self) -> float:
        """One-sided upper bound of the rate, valid at every look."""
        return min([1.0, *self.uppers]) * self.scale

    @property
    def lower(self) -> float:
        """One-sided lower bound of the rate, valid at every look."""
        return max([0.0, *self.lowers]) * self.scale

    def why(self) -> str:
        """Why the answer is not known."""
        if self.cannot_fail:
            return self.cannot_fail
        if not self.below:
            return "not measured"
        need = fewest_to_pass(
            self.tested_limit, self.alpha * look_shares(self.n_looks)[len(self.below) - 1]
        )
        if self.n < need and need < float("inf"):
            return f"{self.n} targets are too few: with a limit of {percent(self.limit.max)}, at least {need} are needed"
        if self.limit.max <= 0:
            return "no number of targets shows that a rate is 0; use a limit above 0"
        attacked = self.sofar.attacked(self.label)
        if attacked < self.least:
            return f"{attacked} targets, and the policy asks for at least {self.least}"
        if self.is_hidden:
            return f"a group of fewer than {self.hidden_below} targets does not decide; attack more"
        return f"between {percent(self.lower, -1)} and {percent(self.upper, 1)}: the targets do not decide; attack more"
