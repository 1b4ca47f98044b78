"""The public names of the plugin, and the page that documents them."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import setanon_dagster

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "dagster.md").read_text("utf-8")
DOCUMENTED = re.findall(r"^::: (setanon_dagster\.[\w.]+)\.(\w+)$", PAGE, re.MULTILINE)


def test_reference_page_documents_exactly_the_exported_names():
    names = [name for _, name in DOCUMENTED]
    assert len(names) == len(set(names))
    assert sorted(names) == sorted(setanon_dagster.__all__)
    assert set(setanon_dagster.__all__) <= set(dir(setanon_dagster))


def test_exported_names_are_the_documented_objects():
    pytest.importorskip("dagster")
    pytest.importorskip("great_expectations")
    for module, name in DOCUMENTED:
        exported = getattr(setanon_dagster, name)
        assert exported is getattr(import_module(module), name)
        assert exported.__module__.startswith("setanon_dagster")


def test_names_in_the_text_of_the_reference_page_exist():
    pytest.importorskip("dagster")
    pytest.importorskip("great_expectations")
    for names in re.findall(r"from setanon_dagster import \(?([\w,\s]+?)\)?\n", PAGE):
        assert {name.strip() for name in names.split(",") if name.strip()} <= {
            *setanon_dagster.__all__
        }
    keys = import_module("setanon_dagster.metadata_keys")
    documented_keys = set(re.findall(r"`(setanon/\w+)`", PAGE))
    assert documented_keys
    assert documented_keys <= {value for value in vars(keys).values() if isinstance(value, str)}


def test_unknown_name_raises_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        setanon_dagster.no_such_name  # noqa: B018 - the access is tested
