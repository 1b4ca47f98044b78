"""The attributes of a component: what they may be, and what is said of others."""

from dataclasses import fields

import pytest
from dagster.components.testing import create_defs_folder_sandbox
from support.components import LEAST, TYPE, complaints, component, refused, schema

from setanon_core.errors import InvalidParameterError
from setanon_dagster import ReleaseConfig, SetanonReleaseComponent, Source
from setanon_dagster.config_schema import RANGES

# What Dagster warns of when it loads any YAML of its own accord.
pytestmark = [
    pytest.mark.filterwarnings("ignore::dagster.BetaWarning"),
    pytest.mark.filterwarnings("ignore:`parse_obj_as` is deprecated"),
]


@pytest.mark.parametrize(
    ("changes", "by_the_schema", "by_loading"),
    [
        ({"k": 1}, "1 is less than the minimum of 2", "k must be at least 2; got 1. At k=1"),
        ({"k": "3"}, "'3' is not of type 'integer'", "k must be of type integer; got a value"),
        ({"k": True}, "True is not of type 'integer'", "k must be of type integer; got a value"),
        ({"p": 9}, "9 is greater than the maximum of 4", "p must be from 1 to 4; got 9."),
        ({"method": "foo"}, "is not one of ['best', 'paper']", "one of best, paper; got 'foo'."),
        ({"grouper": 3}, "3 is not one of ['star'", "one of star, suppression, facility_location"),
        ({"min_owners": -1}, "-1 is less than the minimum of 0", "min_owners must be at least 0"),
        ({"min_owner": 0}, "('min_owner' was unexpected)", "attributes must be among name, "),
        ({"name": "Log 1"}, "'Log 1' does not match", "name must be lower case letters"),
        ({"owners": "me"}, "'me' is not of type 'array'", "owners must be of type array; got"),
        ({"source": {}}, "'uri' is a required property", "source must have uri; it is missing."),
        (
            {"source": "log.tsv"},
            "is not of type 'object'",
            "source must be knobs and their values; got",
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
            "with_user, longest_line; got 'user'.",
        ),
    ],
)
def test_bad_values_are_refused_by_the_schema_and_by_loading(changes, by_the_schema, by_loading):
    given = {**LEAST, **changes}
    assert any(by_the_schema in said for said in complaints(given))
    assert by_loading in refused(given)


@pytest.mark.parametrize("missing", list(LEAST))
def test_what_is_missing_is_named(missing):
    given = {name: value for name, value in LEAST.items() if name != missing}
    assert complaints(given) == [f"'{missing}' is a required property"]
    assert f"attributes must have {missing}; it is missing." in refused(given)


def test_a_file_without_attributes_is_refused_in_our_words():
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


def test_templates_are_filled_in_and_then_checked(monkeypatch):
    monkeypatch.setenv("LEAST_USERS", "1")
    given = {"k": "{{ env('LEAST_USERS') }}"}
    assert complaints({**LEAST, **given}) == []
    with pytest.raises(InvalidParameterError, match="k must be at least 2; got 1"):
        component(**given)
    monkeypatch.setenv("LEAST_USERS", "7")
    assert component(**given).k == 7


def test_a_word_that_looks_like_a_number_stays_a_word():
    made = component(source={"uri": ["1", "2"], "user_column": "0", "time_column": 1})
    assert made.source == Source(("1", "2"), user_column="0", time_column=1)


def test_every_knob_has_a_sentence_a_default_and_a_range_or_choices():
    attributes = schema()["properties"]
    knobs = {
        **{name: rule for name, rule in attributes.items() if name != "source"},
        **attributes["source"]["properties"],
    }
    expected = {field.name for owner in (ReleaseConfig, Source) for field in fields(owner)}
    assert knobs.keys() | {"source"} == expected
    for name, rule in knobs.items():
        assert len(rule["description"]) > 15, name
        assert rule["description"].endswith("."), name
        assert "default" in rule or name in {"name", "k", "out", "uri"}
        assert "enum" in rule["else"] or set(rule["else"]["type"]) - {"null"}, name
    assert set(schema()["required"]) == {"name", "k", "out"}


def test_the_ranges_of_the_schema_are_those_of_the_dataclasses():
    for name, limits in RANGES.items():
        for limit, step in (("minimum", -1), ("maximum", 1)):
            if limit in limits:
                good, bad = limits[limit], limits[limit] + step
                inside = name in {field.name for field in fields(Source)}
                at = {"source": {"uri": "x", name: good}} if inside else {name: good}
                beyond = {"source": {"uri": "x", name: bad}} if inside else {name: bad}
                assert component(**at)
                assert complaints({**LEAST, **at}) == []
                assert "must be" in refused({**LEAST, **beyond})
                assert complaints({**LEAST, **beyond})
