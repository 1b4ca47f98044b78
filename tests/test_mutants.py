"""Mutation testing: mutants are generated, applied and found; its tables are up to date."""

# ruff: noqa: S608 - texts to mutate, no queries

import ast
import tomllib
from pathlib import Path

import pytest
from mutants.__main__ import known_faults
from mutants.generate import mutants_of

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "tests" / "mutants"
QUERY = "SELECT count(DISTINCT a) FROM b WHERE c >= 2"
SOURCE = f'''
"""A module."""

def first(sizes: list, k: int = 3, *, strict="yes"):
    """A function."""
    if len(sizes) < k and sizes:
        raise ValueError("k must be small; got 7")
    sizes.sort(key=abs)
    query = {QUERY!r}
    return [size for size in sizes if not size]
'''


@pytest.mark.parametrize(
    "change",
    [
        "len(sizes) < k -> len(sizes) <= k",
        "len(sizes) < k -> len(sizes) >= k",
        "len(sizes) < k and sizes -> len(sizes) < k or sizes",
        "if len(sizes) < k and sizes: -> if False:",
        "raise ValueError('k must be small; got 7') -> pass",
        "sizes.sort(key=abs) -> pass",
        "sizes.sort(key=abs) -> sizes.sort()",
        "3 -> 4",
        "3 -> 2",
        "not size -> size",
        " for size in sizes if not size ->  for size in sizes",
        f"{QUERY!r} -> 'SELECT count(a) FROM b WHERE c >= 2'",
        f"{QUERY!r} -> 'SELECT count(DISTINCT a) FROM b WHERE true OR c >= 2'",
    ],
)
def test_each_kind_of_change_is_generated_once(change):
    assert [" ".join(m.change.split()) for m in mutants_of(SOURCE)].count(
        " ".join(change.split())
    ) == 1


def test_every_mutant_is_valid_code_that_differs_from_the_source():
    original = ast.dump(ast.parse(SOURCE))
    trees = [mutant.apply() for mutant in mutants_of(SOURCE)]

    assert original not in {ast.dump(tree) for tree in trees}
    assert all(compile(tree, "mutant", "exec") for tree in trees)
    # Messages of errors and docstrings are not mutated.
    assert all("got 7" in ast.dump(tree) or "Raise" not in ast.dump(tree) for tree in trees)


def test_the_known_faults_can_be_applied_and_all_named_files_exist():
    assert len(known_faults()) >= 20
    modules = tomllib.loads((TABLES / "modules.toml").read_text())["tests"]
    named = [*modules, *(test for tests in modules.values() for test in tests)]
    assert [name for name in named if not (ROOT / name.split("::")[0]).is_file()] == []


def test_every_equivalent_mutant_has_a_reason():
    for entry in tomllib.loads((TABLES / "equivalent.toml").read_text())["mutant"]:
        assert entry["reason"].endswith(".")
        assert entry["changes"]
        assert (ROOT / entry["module"]).is_file()
