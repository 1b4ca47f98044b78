"""A component as tests make it, and what is said of attributes that will not do."""

from jsonschema import Draft202012Validator
from pydantic import ValidationError

from setanon_dagster import SetanonReleaseComponent

TYPE = "setanon_dagster.SetanonReleaseComponent"
LEAST = {"name": "searches", "source": {"uri": "data/log.tsv"}, "k": 3, "out": "out"}
STAGES = {
    "raw_log",
    "rejected_rows",
    "threads",
    "clusters",
    "anonymized_threads",
    "ledger",
    "cost_report",
    "release",
}


def component(**changes):
    return SetanonReleaseComponent.from_attributes_dict(attributes={**LEAST, **changes})


def schema(kind=SetanonReleaseComponent):
    return kind.model().model_json_schema()


def complaints(attributes):
    """What `dg check yaml` says of these attributes."""
    return [error.message for error in Draft202012Validator(schema()).iter_errors(attributes)]


def refused(given):
    """What is said when a file with these attributes is loaded."""
    try:
        SetanonReleaseComponent.from_attributes_dict(attributes=given)
    except ValidationError as error:  # kept by a name, it would keep all modules until the end
        return str(error)
    return "nothing was refused"
