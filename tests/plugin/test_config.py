"""`ReleaseConfig`: combinations of values, parameters for the core, certified parameters."""

from dataclasses import fields

import pytest

from setanon_core.errors import InvalidParameterError
from setanon_core.params import PublishedParams
from setanon_core.threads.edit_distance import EditDistance
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.sources.source import Source


def config_with(kind="log", **changes):
    required = {"name": "searches", "source": Source("x", kind=kind), "k": 3, "out": "out"}
    return ReleaseConfig(**{**required, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 1}, "k must be at least 2; got 1. At k=1 the release would be the raw data."),
        ({"name": "Log"}, "name must be lower case letters, digits and _, starting with a letter."),
        ({"name": None}, "name must be lower case letters"),
        ({"similarity": 1.5}, "similarity must be a number from 0 to 1; got 1.5."),
        ({"workers": 0}, "workers must be at least 1; got 0."),
        ({"memory_limit": "lots"}, "memory_limit must be a number followed by MB, GB"),
        ({"memory_limit": "900 MiB"}, "memory_limit must be at least 1GB, .* got 900 MiB."),
        ({"engine": "flink"}, "engine must be one of embedded, spark; got 'flink'."),
        (
            {"spark_settings": ("spark.executor.memory=1g", "canary")},
            r"every entry of spark_settings must be name=value, .*; 1 have no =\.$",
        ),
        ({"report": "long"}, "report must be one of plain, full; got 'long'."),
        ({"partition": "year"}, "partition must be one of day, week, month; got 'year'."),
        ({"partition": "day"}, "start must be the first day of the first partition"),
        ({"partition": "day", "start": "2006-02-30"}, "start must be the first day of the first"),
        ({"start": "March"}, "start must be a date such as 2006-03-01."),
        ({"partition": "month", "start": "2006-01-31"}, "a day from 1 to 28 .*; got day 31."),
        ({"kind": "baskets", "partition": "day", "start": "2006-03-01"}, "baskets have no time"),
        (
            {"kind": "baskets", "engine": "spark"},
            "engine must be embedded for baskets; got 'spark'",
        ),
        ({"kind": "baskets", "unit": "session"}, "baskets have no queries"),
    ],
)
def test_bad_values_and_combinations_are_refused(changes, message):
    with pytest.raises(InvalidParameterError, match=message):
        config_with(**changes)


def test_format_of_baskets_is_sets():
    assert config_with("baskets").format == "sets"
    assert config_with().format == "queries"


def test_core_parameters_have_the_values_of_the_config():
    config = config_with(method="paper", p=3, min_owners=0, similarity=0.2)
    params = config.params(b"secret")
    for field in fields(PublishedParams):
        assert getattr(params, field.name) == getattr(config, field.name)
    assert params.measure == EditDistance(relative=0.2)
    assert params.secret == b"secret"


def test_certified_parameters_are_the_published_ones_and_similarity():
    certified = config_with(min_owners=0).certified_parameters()
    names = sorted(field.name for field in fields(PublishedParams) if field.name != "attributes")
    assert list(certified) == [*names, "similarity"]
    assert (certified["k"], certified["min_owners"], certified["similarity"]) == (3, 0, 0.35)


def test_certified_parameters_have_the_names_of_attributes_and_their_time_zone():
    certified = config_with(attributes=("site=host:Click URL", "shop=x")).certified_parameters()
    assert certified["attributes"] == "site, shop"
    assert "timezone" not in certified
    local = config_with(attributes=("day",), timezone="Europe/Berlin").certified_parameters()
    assert (local["attributes"], local["timezone"]) == ("day", "Europe/Berlin")


def test_secret_comes_from_the_environment_or_is_random(monkeypatch):
    monkeypatch.delenv("SETANON_SECRET", raising=False)
    assert config_with().params().secret != config_with().params().secret
    monkeypatch.setenv("SETANON_SECRET", "s" * 16)
    assert config_with().params().secret == b"s" * 16
    for secret in ("s" * 15, "s" * 65):
        monkeypatch.setenv("SETANON_SECRET", secret)
        with pytest.raises(InvalidParameterError) as caught:
            config_with().params()
        assert "sss" not in str(caught.value)
