"""Sentences in the words of a domain: products and purchases in place of items and events."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

PLAIN = {"item": ("item", "items"), "event": ("event", "events")}
"""Words where no domain says others."""

_NOUN = re.compile(r"\b(?:(an) )?(item|event)(s?)\b(?![\w.-])", re.IGNORECASE)


def nouns_of(domain: Mapping[str, Any] | None) -> dict[str, tuple[str, str]]:
    """What an item and an event are called, one and several, from the provenance of findings."""
    given = domain or {}
    return {name: (*given.get(name, plain),) for name, plain in PLAIN.items()}


def in_domain_words(text: str, nouns: Mapping[str, tuple[str, str]]) -> str:
    """Write a sentence about items and events in the words of a domain.

    >>> nouns = {"item": ("product", "products"), "event": ("purchase", "purchases")}
    >>> in_domain_words("An item with ten events; rare items find more.", nouns)
    'A product with ten purchases; rare products find more.'
    """
    if nouns == PLAIN:
        return text

    def replaced(found: re.Match[str]) -> str:
        article, name, plural = found.groups()
        noun = nouns[name.lower()][bool(plural)]
        if article is None:
            return noun.capitalize() if name[0].isupper() else noun
        fitting = article[0] if noun[0] not in "aeiou" else article
        return f"{fitting} {noun}"

    return _NOUN.sub(replaced, text)
