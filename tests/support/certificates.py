"""The schema of certificates, as a reader of a release would use it."""

import json
from pathlib import Path

from jsonschema import Draft202012Validator

SCHEMA = Path(__file__).parents[2] / "docs" / "certificate.schema.json"


def faults_of(certificate):
    """Where a certificate, as JSON has it, is not what the schema says."""
    schema = json.loads(SCHEMA.read_text())
    Draft202012Validator.check_schema(schema)
    told = json.loads(json.dumps(certificate, allow_nan=False))
    return [error.json_path for error in Draft202012Validator(schema).iter_errors(told)]
