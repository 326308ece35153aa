"""Search outputs for labels of the data: the self-check behind `--redact`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from standout.data.dataset import Dataset

SHORTEST = 4
"""Labels with fewer characters are not searched for: they occur by chance."""
MOST_WORDS = 8
_WORD = re.compile(r"\w+")


def find_labels_in(outputs: Mapping[str, str], *datasets: Dataset) -> tuple[bool, str]:
    """Whether no label of a record or item occurs in the texts, and a sentence about it that holds no label.

    Plain numbers and labels of fewer than 4 characters are left out: they occur in any table. So
    are items whose label is one plain word in lower case, which a sentence may use.

    Parameters
    ----------
    outputs
        Texts by name.
    datasets
        The data whose labels must not occur.
    """
    searched: set[tuple[str, ...]] = set()
    n_labels = 0
    for dataset in datasets:
        for labels, is_person in ((dataset.record_labels, True), (dataset.item_labels, False)):
            n_labels += labels.size
            searched.update(_searchable(labels.tolist(), is_person))
    found = {name: _count(text, searched) for name, text in outputs.items()}
    if any(found.values()):
        where = ", ".join(f"{name} ({n})" for name, n in found.items() if n)
        return False, f"labels of the data were found in {where}"
    of = f"{len(searched):,} of {n_labels:,} labels were searched for"
    return True, (
        f"no label of the data in {len(found)} outputs ({of}; the others are short or plain numbers)"
    )


def _searchable(labels: list[object], is_person: bool) -> Iterator[tuple[str, ...]]:
    """Words of each label that does not occur by chance."""
    for text in map(str, labels):
        words = tuple(_WORD.findall(text))
        plain = text.isalpha() and text.islower() and not is_person
        number = all(word.isdecimal() for word in words)
        if len(text) >= SHORTEST and 0 < len(words) <= MOST_WORDS and not number and not plain:
            yield words


def _count(text: str, searched: set[tuple[str, ...]]) -> int:
    """Number of different labels in a text."""
    words = _WORD.findall(text)
    found: set[tuple[str, ...]] = set()
    for n in range(1, MOST_WORDS + 1):
        found |= searched.intersection(zip(*(words[k:] for k in range(n)), strict=False))
    return len(found)
