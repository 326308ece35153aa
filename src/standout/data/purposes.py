"""What random numbers are for: a number per purpose, so that different purposes draw independently.

Random numbers are functions of (seed, purpose, target). Changing a number here changes every
stored result that depends on it.
"""

from __future__ import annotations

# adversary and audit: known facts, targets, and the halves of the targets
PURPOSE_KNOWLEDGE = 1
PURPOSE_TARGETS = 2
PURPOSE_SPLIT = 3

# attacks: canaries of a defended release, and the person's own entries among exchanged ones
PURPOSE_WITHHELD = 40
PURPOSE_LOST = 41
PURPOSE_HIDDEN = 42
PURPOSE_MOVED = 43
PURPOSE_REPLACED = 44
PURPOSE_GIVER = 45
PURPOSE_LENGTH = 46
PURPOSE_CUT = 47
PURPOSE_OWN = 48
PURPOSE_COUNTED = 49

# attacks: a source that a grouped release could be made of
PURPOSE_BEHIND = 50
PURPOSE_NAME = 51
PURPOSE_COPY = 52

# linking: canaries, resampled people, and right links by chance
PURPOSE_LINK_CANARIES = 41
PURPOSE_RESAMPLE = 43
PURPOSE_DRAWS = 44

# theory: runs of Algorithm 3, the bootstrap, and subsets (this and the next numbers, one per subset)
PURPOSE_RUN = 51
PURPOSE_BOOT = 52
PURPOSE_SUBSET = 60

# papers: mentions in a forum
PURPOSE_MENTIONS = 61

# utility: held-out entries, tested people, people for tuning, and starting factors
PURPOSE_HELD_OUT = 71
PURPOSE_TESTED = 72
PURPOSE_TUNING = 73
PURPOSE_FACTORS = 74

# knowledge: levels of further channels
PURPOSE_CHANNEL = 81

# experiments: seeds of repeated draws
PURPOSE_REPEATED = 80

# gate: one of several tied records, and planted people
PURPOSE_TIES = 71
PURPOSE_PLANTS = 72

# defenses
PURPOSE_ENTRIES = 101
PURPOSE_CAP = 102
PURPOSE_RECORDS = 103
PURPOSE_NOISE = 104
PURPOSE_SHIFT = 105
PURPOSE_PAIRING = 106
PURPOSE_SWAP = 107
PURPOSE_ATTRIBUTES = 108
PURPOSE_ATTRIBUTES_ORDER = 109
PURPOSE_LABELS = 110
PURPOSE_RESPONSE = 111
PURPOSE_RESPONSE_ITEM = 112
PURPOSE_RESPONSE_ENTRY = 113
PURPOSE_STAGE = 114
