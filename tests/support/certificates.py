"""Validation of certificates by the published JSON schema."""

import json
from functools import cache
from pathlib import Path

from jsonschema import Draft202012Validator

SCHEMA = Path(__file__).parents[2] / "docs" / "certificate.schema.json"


@cache
def validator():
    """The validator of the published schema, which is checked once, too."""
    schema = json.loads(SCHEMA.read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def faults_of(certificate):
    """JSON paths at which a certificate violates the schema."""
    document = json.loads(json.dumps(certificate, allow_nan=False))
    return [error.json_path for error in validator().iter_errors(document)]
