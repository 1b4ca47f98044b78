"""Validation of a certificate by its JSON schema, which is part of the package.

Only the keywords of JSON Schema that this schema uses are implemented, so that `setanon verify`
needs no further package; an unknown keyword raises an error.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from setanon_core.errors import SetanonError

SCHEMA_FILE: Final = Path(__file__).with_name("certificate.schema.json")

SCHEMA_FILES: Final[Mapping[object, Path]] = {
    2: SCHEMA_FILE.with_name("certificate.schema.2.json"),
    3: SCHEMA_FILE,
}
"""Schemas by version: certificates of earlier versions are verified by theirs."""

TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "object": dict,
    "string": str,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}
ANNOTATIONS: Final = frozenset({"$schema", "$id", "$defs", "title", "description"})
"""Keywords that check nothing."""


@cache
def _schema(path: Path) -> dict[str, Any]:
    """A schema, with its references replaced by what they refer to."""
    schema: dict[str, Any] = json.loads(path.read_bytes())
    resolved: dict[str, Any] = _resolve(schema, schema["$defs"])
    return resolved


def _resolve(part: Any, definitions: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
    if isinstance(part, dict):
        if "$ref" in part:
            return definitions[part["$ref"].removeprefix("#/$defs/")]
        return {name: _resolve(each, definitions) for name, each in part.items()}
    return part


def schema_faults(certificate: object) -> list[str]:
    """Paths at which a certificate differs from its schema, with names of the schema only."""
    version = certificate.get("schema") if isinstance(certificate, dict) else None
    # Lists and objects cannot be looked up, and true is no version.
    known = type(version) is int and version in SCHEMA_FILES
    file = SCHEMA_FILES[version] if known else SCHEMA_FILE
    return list(_faults(certificate, _schema(file), "certificate"))


def _faults(value: object, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    failed = False
    for keyword, expected in schema.items():
        if keyword in {"properties", "additionalProperties", "required", "propertyNames"}:
            continue
        if keyword not in ANNOTATIONS and not _holds(value, keyword, expected):
            failed = True
    if failed:
        yield path
    if isinstance(value, dict):
        yield from _object_faults(value, schema, path)


def _object_faults(value: dict[str, object], schema: Mapping[str, Any], path: str) -> Iterator[str]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    missing = [name for name in schema.get("required", ()) if name not in value]
    yield from (f"{path}.{name}" for name in missing)
    names = schema.get("propertyNames", {})
    for name, member in value.items():
        if names and re.search(names["not"]["pattern"], name):
            yield path
        if name in properties:
            yield from _faults(member, properties[name], f"{path}.{name}")
        elif schema.get("additionalProperties", True) is False:
            yield path
        elif isinstance(others := schema.get("additionalProperties", True), dict):
            # The name is not of the schema, so it may be data.
            yield from _faults(member, others, path)


def _holds(value: object, keyword: str, expected: Any) -> bool:  # noqa: ANN401, PLR0911 - JSON
    match keyword:
        case "type":
            names = [expected] if isinstance(expected, str) else expected
            return any(_is_of_type(value, name) for name in names)
        case "const":
            return _is_same(value, expected)
        case "enum":
            return any(_is_same(value, each) for each in expected)
        case "pattern":
            # In JSON Schema, $ is the end of the text; in Python, also a line end before it.
            pattern = re.sub(r"\$$", r"\\Z", expected)
            return not isinstance(value, str) or re.search(pattern, value) is not None
        case "minLength":
            return not isinstance(value, str) or len(value) >= expected
        case "maxLength":
            return not isinstance(value, str) or len(value) <= expected
        case "minimum":
            return not _is_number(value) or value >= expected
        case "maximum":
            return not _is_number(value) or value <= expected
        case "multipleOf":
            return not _is_number(value) or value % expected == 0
    raise SetanonError(f"the schema of certificates must have known keywords; {keyword} is not.")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_of_type(value: object, name: str) -> bool:
    """Whether a value has a type; 2.0 is an integer, as in JSON Schema, and true is no number."""
    if isinstance(value, bool):
        return False
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[name])


def _is_same(value: object, expected: object) -> bool:
    return value == expected and isinstance(value, bool) == isinstance(expected, bool)
