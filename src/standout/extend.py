"""Names for authors of attacks, choices, defenses, views, channels, readers and engines of their own.

Each is registered under a name; an engine can also be passed as an object. `examples/` has one file for each of them.
"""

from standout.adversary.choice import Choice, PickRule
from standout.adversary.choices import register_choice
from standout.adversary.facts import Facts
from standout.attacks.attack import Attack, register_attack
from standout.attacks.criterion import one_over_sigma, stands_out
from standout.attacks.noise import Noise
from standout.attacks.tables import Known
from standout.attacks.verdicts import Outcome
from standout.data.adding import with_channels
from standout.data.catalog import Catalog
from standout.data.index import Shard
from standout.data.mechanism import ItemMap, Mechanism, TimeMap
from standout.data.reading.formats import register_reader
from standout.data.scale import Channel, OwnChannel, register_channel
from standout.data.tasks import Result, Task
from standout.defenses.defense import Defense, register_defense
from standout.engines.engine import Engine, register_engine
from standout.kernels.bins import LevelBins, TickBins
from standout.kernels.levels import CircleSteps, Steps, Table, Uniform
from standout.kernels.moments import Window
from standout.scoring.partials import Partials
from standout.scoring.plan import Combine, Plan
from standout.views.groups import GroupsView
from standout.views.ranks import RankView
from standout.views.sequence import SequenceView
from standout.views.view import View, register_view

__all__ = [
    # attacks
    "Attack",
    "register_attack",
    "Catalog",
    "Facts",
    "Known",
    "Plan",
    "Combine",
    "Outcome",
    "stands_out",
    "one_over_sigma",
    # choices of the known items
    "Choice",
    "register_choice",
    "PickRule",
    "RankView",
    # the noise model of the likelihood
    "Noise",
    "LevelBins",
    "Steps",
    "Table",
    "TickBins",
    "Uniform",
    "Window",
    # defenses
    "Defense",
    "register_defense",
    "Mechanism",
    "ItemMap",
    "TimeMap",
    # views
    "View",
    "register_view",
    "GroupsView",
    "SequenceView",
    "Channel",
    "with_channels",
    # level channels
    "OwnChannel",
    "register_channel",
    "CircleSteps",
    # readers of files
    "register_reader",
    # engines
    "Engine",
    "register_engine",
    "Task",
    "Result",
    "Shard",
    "Partials",
]
