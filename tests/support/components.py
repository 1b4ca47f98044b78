"""A component with the required attributes, and the errors for other attributes."""

from jsonschema import Draft202012Validator
from pydantic import ValidationError

from setanon_dagster import SetanonReleaseComponent

TYPE = "setanon_dagster.SetanonReleaseComponent"
ATTRIBUTES = {"name": "searches", "source": {"uri": "data/log.tsv"}, "k": 3, "out": "out"}
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
    return SetanonReleaseComponent.from_attributes_dict(attributes={**ATTRIBUTES, **changes})


def schema(component_type=SetanonReleaseComponent):
    return component_type.model().model_json_schema()


def schema_errors(attributes):
    """The errors that `dg check yaml` prints for these attributes."""
    return [error.message for error in Draft202012Validator(schema()).iter_errors(attributes)]


def loading_error(attributes):
    """The error when a file with these attributes is loaded."""
    try:
        SetanonReleaseComponent.from_attributes_dict(attributes=attributes)
    except ValidationError as error:  # not returned itself: its traceback keeps modules alive
        return str(error)
    return "no error"
