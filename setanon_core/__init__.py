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
    NotAnonymousError,
    SetanonError,
)
from setanon_core.model.groups import Anonymized, Certificate, Cost
from setanon_core.model.verdict import Verdict
from setanon_core.params import Params
from setanon_core.pipeline.anonymize import anonymize
from setanon_core.verify import verify

__all__ = [
    "Anonymized",
    "Certificate",
    "Cost",
    "InvalidParameterError",
    "MalformedInputError",
    "NotAnonymousError",
    "Params",
    "Records",
    "SetanonError",
    "Verdict",
    "anonymize",
    "verify",
]
