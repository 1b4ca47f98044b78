"""Validation of certificates by the published JSON schema."""

import json
from pathlib import Path

from jsonschema import Draft202012Validator

SCHEMA = Path(__file__).parents[2] / "docs" / "certificate.schema.json"


def faults_of(certificate):
    """JSON paths at which a certificate violates the schema."""
    schema = json.loads(SCHEMA.read_text())
    Draft202012Validator.check_schema(schema)
    document = json.loads(json.dumps(certificate, allow_nan=False))
    return [error.json_path for error in Draft202012Validator(schema).iter_errors(document)]
