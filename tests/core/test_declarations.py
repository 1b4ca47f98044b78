"""Parameters derived from dataclass fields: types, choices, range, default and description."""

from dataclasses import dataclass, field
from types import NoneType
from typing import Annotated, Literal

import pytest

from setanon_core.declarations import check_parameters, describe, descriptions, parameters_of
from setanon_core.errors import InvalidParameterError
from setanon_core.ranges import AtLeast


@dataclass(frozen=True)
class Inner:
    size: int = 1


@dataclass(frozen=True)
class Base:
    count: Annotated[int, AtLeast(1)]
    """Number of rows."""

    mode: Literal["fast", "slow"] | None = None
    """How it runs; None: automatic."""

    def __post_init__(self):
        check_parameters(self)


@dataclass(frozen=True)
class Derived(Base):
    column: Annotated[str | int, AtLeast(0)] | None = 3
    """Column with the
    value.
    """

    names: tuple[str, ...] = field(default_factory=tuple)
    inner: Inner = field(default_factory=Inner)


def test_parameters_keep_the_order_of_the_fields_and_those_of_the_base_come_first():
    assert list(parameters_of(Derived)) == ["count", "mode", "column", "names", "inner"]


def test_types_choices_range_and_default_are_derived():
    parameters = parameters_of(Derived)
    assert parameters["count"].types == (int,)
    assert parameters["count"].range == AtLeast(1)
    assert parameters["count"].required
    assert parameters["mode"].types == (str, NoneType)
    assert parameters["mode"].choices == ("fast", "slow")
    assert parameters["column"].types == (str, int, NoneType)
    assert parameters["column"].default == 3
    assert parameters["names"].types == (tuple,)
    assert parameters["names"].default == ()
    assert not parameters["names"].required
    assert [each.nested for each in parameters.values()] == [None, None, None, None, Inner]


def test_fields_of_base_and_subclass_are_checked():
    assert Derived(2, "fast").count == 2
    assert Derived(2, None, None).column is None
    with pytest.raises(InvalidParameterError, match="count must be at least 1"):
        Derived(0)
    with pytest.raises(InvalidParameterError, match="mode must be one of fast, slow"):
        Derived(1, "other")
    with pytest.raises(InvalidParameterError, match="column must be at least 0"):
        Derived(1, column=-1)


def test_description_is_the_docstring_followed_by_choices_or_range():
    assert descriptions(Derived)["column"] == "Column with the value."
    assert describe(Derived, "count") == "Number of rows. At least 1."
    assert describe(Derived, "mode") == "How it runs; None: automatic. One of fast, slow."
    assert describe(Derived, "names") == ""


def test_class_without_source_code_has_no_descriptions():
    namespace = {"dataclass": dataclass}
    exec("@dataclass\nclass Generated:\n    size: int = 1\n", namespace)  # noqa: S102
    assert descriptions(namespace["Generated"]) == {}
