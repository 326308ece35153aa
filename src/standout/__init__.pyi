"""The public names of standout and their modules, for type checkers and for `__init__.py`.

Names of `standout.extend` are here because they were public before that module existed, as are
`register` (now `register_attack`) and `Verdict` (now `GateVerdict`). New ones are added only there.
"""

__version__: str

from standout.adversary.adversary import Adversary as Adversary
from standout.adversary.knowledge import Knowledge as Knowledge
from standout.attacks.attack import attack as attack
from standout.attacks.attack import attack_names as attack_names
from standout.attacks.attack import register as register
from standout.attacks.verdicts import Verdicts as Verdicts
from standout.audit.audit import Audit as Audit
from standout.audit.explain import Explanation as Explanation
from standout.audit.explain import explain as explain
from standout.audit.findings import Findings as Findings
from standout.audit.risk import Risk as Risk
from standout.audit.risk import risk as risk
from standout.audit.sweep_file import load_sweep as load_sweep
from standout.audit.worst_case import WorstCase as WorstCase
from standout.audit.worst_case import worst_case as worst_case
from standout.data.chunked.dataset import ChunkedDataset as ChunkedDataset
from standout.data.dataset import Dataset as Dataset
from standout.data.synthetic import twin_dataset as twin_dataset
from standout.defenses.defense import defense as defense
from standout.defenses.defense import defense_names as defense_names
from standout.defenses.frontier import Frontier as Frontier
from standout.defenses.frontier import frontier as frontier
from standout.defenses.parse import parse_defense as parse_defense
from standout.engines.chunked import ChunkedEngine as ChunkedEngine
from standout.engines.memory import MemoryEngine as MemoryEngine
from standout.engines.spark import SparkEngine as SparkEngine
from standout.engines.spark_dataset import SparkDataset as SparkDataset
from standout.errors import ColumnError as ColumnError
from standout.errors import EligibilityError as EligibilityError
from standout.errors import EngineError as EngineError
from standout.errors import InputError as InputError
from standout.errors import ParameterError as ParameterError
from standout.errors import RowError as RowError
from standout.errors import StandoutError as StandoutError
from standout.extend import Attack as Attack
from standout.extend import Combine as Combine
from standout.extend import Defense as Defense
from standout.extend import Engine as Engine
from standout.extend import Known as Known
from standout.extend import Mechanism as Mechanism
from standout.extend import Noise as Noise
from standout.extend import Partials as Partials
from standout.extend import Plan as Plan
from standout.extend import Shard as Shard
from standout.extend import Task as Task
from standout.extend import one_over_sigma as one_over_sigma
from standout.extend import register_defense as register_defense
from standout.extend import stands_out as stands_out
from standout.gate.evidence import save_evidence as save_evidence
from standout.gate.policy import Policy as Policy
from standout.gate.regression import Regression as Regression
from standout.gate.regression import diff as diff
from standout.gate.verdict import GateVerdict as GateVerdict
from standout.gate.verdict import Verdict as Verdict
from standout.gate.verdict import check as check
from standout.gate.verify import Verification as Verification
from standout.gate.verify import verify as verify
from standout.linking.history import split_time as split_time
from standout.linking.link import link as link
from standout.linking.link import time_shifted as time_shifted
from standout.linking.links import LinkFindings as LinkFindings
from standout.linking.links import Links as Links
from standout.linking.noise import LinkNoise as LinkNoise
from standout.report.charts import charts as charts
from standout.report.drawing import Chart as Chart
from standout.report.explanation import render_explanation as render_explanation
from standout.report.linking import render_links as render_links
from standout.report.page import render as render
from standout.report.pdf import render_pdf as render_pdf
from standout.theory.amplification import Amplification as Amplification
from standout.theory.amplification import amplification as amplification
from standout.theory.bounds import Bounds as Bounds
from standout.theory.bounds import bounds as bounds
from standout.theory.certificates import Certificates as Certificates
from standout.theory.certificates import certificates as certificates
from standout.theory.describe import Description as Description
from standout.theory.describe import describe as describe
from standout.theory.population import Population as Population
from standout.theory.population import population as population
from standout.theory.sparsity import sparsity as sparsity
