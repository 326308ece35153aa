"""standout: measure how few facts identify a person in sparse data, before the data is released.

This is the whole public API; import from no other module.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Dataset": "standout.data.dataset",
    "Adversary": "standout.adversary.adversary",
    "Knowledge": "standout.adversary.knowledge",
    "Attack": "standout.attacks.attack",
    "attack": "standout.attacks.attack",
    "attack_names": "standout.attacks.attack",
    "register": "standout.attacks.attack",
    "Verdicts": "standout.attacks.verdicts",
    "Known": "standout.attacks.tables",
    "Plan": "standout.scoring.plan",
    "Combine": "standout.scoring.plan",
    "Partials": "standout.scoring.partials",
    "Shard": "standout.data.index",
    "Task": "standout.data.tasks",
    "stands_out": "standout.attacks.criterion",
    "one_over_sigma": "standout.attacks.criterion",
    "Noise": "standout.attacks.noise",
    "Audit": "standout.audit.audit",
    "Findings": "standout.audit.findings",
    "Defense": "standout.defenses.defense",
    "defense": "standout.defenses.defense",
    "defense_names": "standout.defenses.defense",
    "Frontier": "standout.defenses.frontier",
    "frontier": "standout.defenses.frontier",
    "parse_defense": "standout.defenses.parse",
    "register_defense": "standout.defenses.defense",
    "Mechanism": "standout.data.mechanism",
    "describe": "standout.theory.describe",
    "sparsity": "standout.theory.sparsity",
    "bounds": "standout.theory.bounds",
    "certificates": "standout.theory.certificates",
    "amplification": "standout.theory.amplification",
    "population": "standout.theory.population",
    "render": "standout.report.page",
    "render_pdf": "standout.report.pdf",
    "charts": "standout.report.charts",
    "explain": "standout.audit.explain",
    "risk": "standout.audit.risk",
    "Risk": "standout.audit.risk",
    "worst_case": "standout.audit.worst_case",
    "WorstCase": "standout.audit.worst_case",
    "link": "standout.linking.link",
    "Links": "standout.linking.links",
    "LinkFindings": "standout.linking.findings",
    "LinkNoise": "standout.linking.noise",
    "split_time": "standout.linking.periods",
    "time_shifted": "standout.linking.split",
    "render_links": "standout.report.linking",
    "check": "standout.gate.check",
    "Policy": "standout.gate.policy",
    "save_evidence": "standout.gate.evidence",
    "verify": "standout.gate.verify",
    "diff": "standout.gate.regression",
    "Verdict": "standout.gate.verdict",
    "Engine": "standout.engines.engine",
    "MemoryEngine": "standout.engines.memory",
    "ChunkedDataset": "standout.data.chunked.dataset",
    "ChunkedEngine": "standout.engines.chunked",
    "SparkEngine": "standout.engines.spark",
    "SparkDataset": "standout.engines.spark_dataset",
    "StandoutError": "standout.errors",
}

__all__ = ["__version__", *_HOME]

if TYPE_CHECKING:
    from standout.adversary.adversary import Adversary as Adversary
    from standout.adversary.knowledge import Knowledge as Knowledge
    from standout.attacks.attack import Attack as Attack
    from standout.attacks.attack import attack as attack
    from standout.attacks.attack import attack_names as attack_names
    from standout.attacks.attack import register as register
    from standout.attacks.criterion import one_over_sigma as one_over_sigma
    from standout.attacks.criterion import stands_out as stands_out
    from standout.attacks.noise import Noise as Noise
    from standout.attacks.tables import Known as Known
    from standout.attacks.verdicts import Verdicts as Verdicts
    from standout.audit.risk import Risk as Risk
    from standout.audit.risk import risk as risk
    from standout.audit.worst_case import WorstCase as WorstCase
    from standout.audit.worst_case import worst_case as worst_case
    from standout.data.chunked.dataset import ChunkedDataset as ChunkedDataset
    from standout.data.dataset import Dataset as Dataset
    from standout.data.index import Shard as Shard
    from standout.data.mechanism import Mechanism as Mechanism
    from standout.data.tasks import Task as Task
    from standout.defenses.defense import Defense as Defense
    from standout.defenses.defense import defense as defense
    from standout.defenses.defense import defense_names as defense_names
    from standout.defenses.defense import register_defense as register_defense
    from standout.defenses.frontier import Frontier as Frontier
    from standout.defenses.frontier import frontier as frontier
    from standout.defenses.parse import parse_defense as parse_defense
    from standout.engines.chunked import ChunkedEngine as ChunkedEngine
    from standout.engines.engine import Engine as Engine
    from standout.engines.memory import MemoryEngine as MemoryEngine
    from standout.engines.spark import SparkEngine as SparkEngine
    from standout.engines.spark_dataset import SparkDataset as SparkDataset
    from standout.errors import StandoutError as StandoutError
    from standout.gate.check import check as check
    from standout.gate.evidence import save_evidence as save_evidence
    from standout.gate.policy import Policy as Policy
    from standout.gate.regression import diff as diff
    from standout.gate.verdict import Verdict as Verdict
    from standout.gate.verify import verify as verify
    from standout.scoring.partials import Partials as Partials
    from standout.scoring.plan import Combine as Combine
    from standout.scoring.plan import Plan as Plan
    from standout.theory.amplification import amplification as amplification
    from standout.theory.bounds import bounds as bounds
    from standout.theory.certificates import certificates as certificates
    from standout.theory.describe import describe as describe
    from standout.theory.population import population as population
    from standout.theory.sparsity import sparsity as sparsity


def __getattr__(name: str) -> Any:
    """Import a public name on first use: `import standout` stays quick."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'standout' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
