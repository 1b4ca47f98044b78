"""YAML attributes: what the JSON schema and the loading of a component accept and refuse."""

from dataclasses import fields

import pytest
from dagster.components.testing import create_defs_folder_sandbox
from support.components import ATTRIBUTES, TYPE, component, loading_error, schema, schema_errors

from setanon_core.declarations import parameters_of
from setanon_core.errors import InvalidParameterError
from setanon_dagster import ReleaseConfig, SetanonReleaseComponent, Source

# Warnings of Dagster whenever it loads YAML.
pytestmark = [
    pytest.mark.filterwarnings("ignore::dagster.BetaWarning"),
    pytest.mark.filterwarnings("ignore:`parse_obj_as` is deprecated"),
]


@pytest.mark.parametrize(
    ("changes", "schema_message", "loading_message"),
    [
        ({"k": 1}, "1 is less than the minimum of 2", "k must be at least 2; got 1. At k=1"),
        ({"k": "3"}, "'3' is not of type 'integer'", "k must be of type integer; got a value"),
        ({"k": True}, "True is not of type 'integer'", "k must be of type integer; got a value"),
        ({"p": 9}, "9 is greater than the maximum of 4", "p must be from 1 to 4; got 9."),
        ({"method": "foo"}, "is not one of ['best', 'paper']", "one of best, paper; got 'foo'."),
        ({"grouper": 3}, "3 is not one of ['star'", "one of star, suppression, facility_location"),
        ({"min_owners": -1}, "-1 is less than the minimum of 0", "min_owners must be at least 0"),
        ({"min_owner": 0}, "('min_owner' was unexpected)", "attributes must be among k, name, "),
        ({"name": "Log 1"}, "'Log 1' does not match", "name must be lower case letters"),
        ({"out": ""}, "'' should be non-empty", None),
        ({"start": "March"}, "'March' does not match", "start must be a date such as 2006-03-01"),
        ({"memory_limit": "1"}, "'1' does not match", "memory_limit must be a number followed by"),
        ({"owners": "me"}, "'me' is not of type 'array'", "owners must be of type array; got"),
        ({"source": {}}, "'uri' is a required property", "source must have uri; it is missing."),
        (
            {"source": "log.tsv"},
            "is not of type 'object'",
            "source must be a mapping of parameters to values; got",
        ),
        (
            {"source": {"uri": "x", "kind": "logs"}},
            "'logs' is not one of ['log', 'baskets']",
            "kind must be one of log, baskets; got 'logs'.",
        ),
        (
            {"source": {"uri": "x", "header": "yes"}},
            "'yes' is not of type 'boolean', 'null'",
            "header must be of type boolean or null; got a value of type str.",
        ),
        (
            {"source": {"uri": "x", "user": "id"}},
            "('user' was unexpected)",
            "with_user, max_rejected, longest_line; got 'user'.",
        ),
    ],
)
def test_bad_values_are_refused_by_schema_and_by_loading(changes, schema_message, loading_message):
    attributes = {**ATTRIBUTES, **changes}
    assert any(schema_message in error for error in schema_errors(attributes))
    if loading_message is not None:
        assert loading_message in loading_error(attributes)


@pytest.mark.parametrize("missing", list(ATTRIBUTES))
def test_error_names_a_missing_parameter(missing):
    attributes = {name: value for name, value in ATTRIBUTES.items() if name != missing}
    assert schema_errors(attributes) == [f"'{missing}' is a required property"]
    assert f"attributes must have {missing}; it is missing." in loading_error(attributes)


def test_file_without_attributes_is_refused_with_our_error():
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            SetanonReleaseComponent, "searches", defs_yaml_contents={"type": TYPE}
        )
        with (
            pytest.raises(Exception, match="Error while loading component") as caught,
            sandbox.load_component_and_build_defs(path),
        ):
            pass
    assert "attributes must have" in str(caught.value.__cause__)


def test_templates_are_resolved_and_then_checked(monkeypatch):
    monkeypatch.setenv("MIN_USERS", "1")
    changes = {"k": "{{ env('MIN_USERS') }}"}
    assert schema_errors({**ATTRIBUTES, **changes}) == []
    with pytest.raises(InvalidParameterError, match="k must be at least 2; got 1"):
        component(**changes)
    monkeypatch.setenv("MIN_USERS", "7")
    assert component(**changes).k == 7


def test_column_name_of_digits_stays_a_string():
    loaded = component(source={"uri": ["1", "2"], "user_column": "0", "time_column": 1})
    assert loaded.source == Source(("1", "2"), user_column="0", time_column=1)


def test_schema_describes_every_parameter_with_default_and_range_or_choices():
    attributes = schema()["properties"]
    parameters = {
        **{name: rule for name, rule in attributes.items() if name != "source"},
        **attributes["source"]["properties"],
    }
    owners = (ReleaseConfig, Source)
    expected = {field.name for owner in owners for field in fields(owner) if field.init}
    assert parameters.keys() | {"source"} == expected
    for name, rule in parameters.items():
        assert len(rule["description"]) > 15, name
        assert rule["description"].endswith("."), name
        assert "None" not in rule["description"], name
        assert "default" in rule or name in {"name", "k", "out", "uri"}
        assert "enum" in rule["else"] or set(rule["else"]["type"]) - {"null"}, name
    assert set(schema()["required"]) == {"name", "k", "out"}


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (owner, name)
        for owner in (ReleaseConfig, Source)
        for name, parameter in parameters_of(owner).items()
        if parameter.range is not None and "minimum" in parameter.range.schema()
    ],
)
def test_schema_and_loading_refuse_values_just_outside_a_numeric_range(owner, name):
    limits = parameters_of(owner)[name].range.schema()
    for limit, step in (("minimum", -1), ("maximum", 1)):
        if limit not in limits:
            continue
        inside, outside = {name: limits[limit]}, {name: limits[limit] + step}
        if owner is Source:
            inside, outside = ({"source": {"uri": "x", **value}} for value in (inside, outside))
        assert component(**inside)
        assert schema_errors({**ATTRIBUTES, **inside}) == []
        assert "must be" in loading_error({**ATTRIBUTES, **outside})
        assert schema_errors({**ATTRIBUTES, **outside})
