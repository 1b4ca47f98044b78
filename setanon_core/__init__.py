"""setanon's core: publish set-valued data so that every set is shared by at least k users.

>>> from setanon_core import anonymize, verify
>>> result = anonymize([{"tea", "milk"}, {"tea", "milk"}, {"tea"}], k=2)
>>> verify(result.records, k=2).ok
True
"""

from setanon_core.columns.records import Records
from setanon_core.errors import (
    InvalidParameterError,
    MalformedInputError,
    MissingPackageError,
    NotAnonymousError,
    SetanonError,
)
from setanon_core.keywords.tokenize import tokenize
from setanon_core.model.batch import Batch
from setanon_core.model.groups import Anonymized, Certificate, Cost
from setanon_core.model.inputs import Baskets, Log
from setanon_core.model.publication import (
    Ledger,
    QueryRelease,
    Release,
    ReleaseCost,
    ReleaseResult,
    SetRelease,
    Sweep,
)
from setanon_core.model.verdict import Verdict
from setanon_core.params import Params, ReleaseParams, SeriesParams
from setanon_core.pipeline.anonymize import anonymize
from setanon_core.pipeline.baskets import anonymize_baskets
from setanon_core.pipeline.build_release import verify_release
from setanon_core.pipeline.log import anonymize_log
from setanon_core.pipeline.sweep import sweep
from setanon_core.series.series import Series
from setanon_core.threads.edit_distance import EditDistance
from setanon_core.threads.result_overlap import ResultOverlap
from setanon_core.threads.search_engines import FullTextResults, TableResults
from setanon_core.threads.similarity import AnyOf
from setanon_core.utility.compare import utility_of
from setanon_core.utility.measures import Utility, UtilityMeasure
from setanon_core.verify import verify

__all__ = [
    "Anonymized",
    "AnyOf",
    "Baskets",
    "Batch",
    "Certificate",
    "Cost",
    "EditDistance",
    "FullTextResults",
    "InvalidParameterError",
    "Ledger",
    "Log",
    "MalformedInputError",
    "MissingPackageError",
    "NotAnonymousError",
    "Params",
    "QueryRelease",
    "Records",
    "Release",
    "ReleaseCost",
    "ReleaseParams",
    "ReleaseResult",
    "ResultOverlap",
    "Series",
    "SeriesParams",
    "SetRelease",
    "SetanonError",
    "Sweep",
    "TableResults",
    "Utility",
    "UtilityMeasure",
    "Verdict",
    "anonymize",
    "anonymize_baskets",
    "anonymize_log",
    "sweep",
    "tokenize",
    "utility_of",
    "verify",
    "verify_release",
]
