"""Search outputs for labels of the data: the self-check behind `--redact`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from standout.data.dataset import Dataset

SHORTEST = 4
"""Labels with fewer characters are not searched for: they occur by chance."""
MOST_WORDS = 8
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Leaks:
    """Number of labels found per output, and how many labels were searched for. It holds no label."""

    found: Mapping[str, int]
    n_searched: int
    n_labels: int

    @property
    def clean(self) -> bool:
        """Whether no label was found."""
        return not any(self.found.values())

    def words(self) -> str:
        """The result in one sentence."""
        searched = f"{self.n_searched:,} of {self.n_labels:,} labels were searched for"
        if self.clean:
            return f"no label of the data in {len(self.found)} outputs ({searched}; the others are short or plain numbers)"
        where = ", ".join(f"{name} ({n})" for name, n in self.found.items() if n)
        return f"labels of the data were found in {where}"


def find_labels_in(outputs: Mapping[str, str], *datasets: Dataset) -> Leaks:
    """Count the labels of records and items that occur in texts, word by word.

    Plain numbers and labels of fewer than 4 characters are left out: they occur in any table. So
    are items whose label is one plain word in lower case, which a sentence may use.

    Parameters
    ----------
    outputs
        Texts by name.
    datasets
        The data whose labels must not occur.
    """
    by_length: dict[int, set[tuple[str, ...]]] = {}
    n_labels = 0
    for dataset in datasets:
        for labels, is_person in ((dataset.record_labels, True), (dataset.item_labels, False)):
            n_labels += int(labels.size)
            for words in _searchable(labels, is_person):
                by_length.setdefault(len(words), set()).add(words)
    found = {name: _count(text, by_length) for name, text in outputs.items()}
    return Leaks(found, sum(map(len, by_length.values())), n_labels)


def _searchable(labels: Any, is_person: bool) -> Iterable[tuple[str, ...]]:
    for label in labels.tolist():
        text = str(label)
        words = tuple(_WORD.findall(text))
        plain = text.isalpha() and text.islower() and not is_person
        number = all(word.isdecimal() for word in words)
        if (
            len(text) >= SHORTEST
            and words
            and len(words) <= MOST_WORDS
            and not number
            and not plain
        ):
            yield words


def _count(text: str, by_length: Mapping[int, set[tuple[str, ...]]]) -> int:
    """Number of different labels in a text."""
    words = _WORD.findall(text)
    seen: set[tuple[str, ...]] = set()
    for n, labels in by_length.items():
        grams = zip(*(words[k:] for k in range(n)), strict=False)
        seen |= labels.intersection(grams)
    return len(seen)
