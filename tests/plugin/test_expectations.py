"""Each expectation accepts good counts, rejects bad ones, and fails on anything but counts."""

import pandas as pd
import pytest

gx = pytest.importorskip("great_expectations")

from setanon_dagster.quality import expectations as custom  # noqa: E402 - after the skip
from setanon_dagster.quality.promises import PROMISES  # noqa: E402
from setanon_dagster.quality.release_counts import STAGE_COLUMNS  # noqa: E402
from setanon_dagster.quality.validation import outcome_of  # noqa: E402

ENTRIES = {
    "rows": 9,
    "distinct_rows": 9,
    "entries": 3,
    "distinct_entries": 3,
    "malformed": 0,
    "unmatched": 0,
}
COLUMNS_OF_QUERIES = {
    "name": list(STAGE_COLUMNS["queries"]),
    "type": list(STAGE_COLUMNS["queries"].values()),
}
COLUMNS_OF_SETS = {
    "name": list(STAGE_COLUMNS["sets"]),
    "type": list(STAGE_COLUMNS["sets"].values()),
}
STAGES = {
    "stage": ["threads", "release"],
    "input_rows": [9, 4],
    "kept": [9, 3],
    "set_aside": [0, 1],
}
FIGURES = {
    "figure": ["threads", "keywords", "withdrawals", "additions", "deletions", "kept"],
    "least": [4, 9, 1, 1, 3, 6],
    "most": [4, 9, 1, 2, 4, 6],
    "reported": [4, 9, 1, 2, 3, 6],
}
K_USERS = custom.ExpectEverySetToHaveKUsers(k=3)
LISTS = custom.ExpectEveryListToHaveKUsers(k=3)
OWNERS = custom.ExpectEveryKeywordToHaveOwners(min_owners=3)
UNIQUE = custom.ExpectThreadsToBeUniqueAndWellFormed()
ONLY = custom.ExpectOnlyColumnsOfTheRelease(format="queries")
ACCOUNTED = custom.ExpectEveryRowToBeAccountedFor()
EDITS = custom.ExpectEditsToMatchTheCostReport()
LEFT = custom.ExpectSomethingToBeLeft()


def changed(batch, **columns):
    return {**batch, **columns}


GOOD = [
    (K_USERS, {"users": [3, 7], "sets": [2, 1], "threads": [6, 9]}),
    (K_USERS, {"users": [0], "sets": [0], "threads": [0]}),
    (LISTS, {"users": [3, 7], "lists": [2, 1], "threads": [6, 9]}),
    (LISTS, {"users": [0], "lists": [0], "threads": [0]}),
    (OWNERS, {"owners": [3, 40], "keywords": [5, 1]}),
    (OWNERS, {"owners": [0], "keywords": [0]}),
    (custom.ExpectEveryKeywordToHaveOwners(min_owners=0), {"owners": [1], "keywords": [5]}),
    (UNIQUE, {name: [count] for name, count in ENTRIES.items()}),
    (UNIQUE, {name: [0] for name in ENTRIES}),
    (ONLY, COLUMNS_OF_QUERIES),
    (custom.ExpectOnlyColumnsOfTheRelease(format="sets"), COLUMNS_OF_SETS),
    (ACCOUNTED, STAGES),
    (EDITS, FIGURES),
    (LEFT, {"threads": [4], "left": [1]}),
    (custom.ExpectSomethingToBeLeft(may_be_empty=True), {"threads": [4], "left": [0]}),
]
BAD = [
    (K_USERS, {"users": [2, 7], "sets": [1, 1], "threads": [2, 9]}),
    (K_USERS, {"users": [0, 3], "sets": [0, 1], "threads": [0, 3]}),  # nothing, and something
    (K_USERS, {"users": [0], "sets": [1], "threads": [1]}),  # a set without a known user
    (K_USERS, {"users": [3], "sets": [2], "threads": [5]}),  # fewer threads than users
    (K_USERS, {"users": [3], "sets": [0], "threads": [3]}),
    (LISTS, {"users": [2, 7], "lists": [1, 1], "threads": [2, 9]}),
    (LISTS, {"users": [3], "lists": [2], "threads": [5]}),
    (LISTS, {"users": [3], "sets": [2], "threads": [6]}),
    (OWNERS, {"owners": [2, 40], "keywords": [1, 1]}),
    (OWNERS, {"owners": [0, 3], "keywords": [1, 1]}),
    (OWNERS, {"owners": [3], "keywords": [0]}),
    *(
        (UNIQUE, {name: [count] for name, count in changed(ENTRIES, **{wrong: n}).items()})
        for wrong, n in [
            ("rows", 10),
            ("rows", 8),
            ("distinct_rows", 8),
            ("entries", 4),
            ("distinct_entries", 2),
            ("malformed", 1),
            ("unmatched", 1),
        ]
    ),
    (UNIQUE, {name: [count] for name, count in {**ENTRIES, "rows": 2, "distinct_rows": 2}.items()}),
    (UNIQUE, {name: [count, count] for name, count in ENTRIES.items()}),
    (
        ONLY,
        {
            "name": [*STAGE_COLUMNS["queries"], "user"],
            "type": [*STAGE_COLUMNS["queries"].values(), "INT"],
        },
    ),
    (
        ONLY,
        {
            "name": [*STAGE_COLUMNS["queries"], "time"],
            "type": [*STAGE_COLUMNS["queries"].values(), "DATE"],
        },
    ),
    (ONLY, {name: column[:-1] for name, column in COLUMNS_OF_QUERIES.items()}),
    (ONLY, {name: [*column, column[0]] for name, column in COLUMNS_OF_QUERIES.items()}),
    (ONLY, changed(COLUMNS_OF_QUERIES, type=["VARCHAR"] * 4)),
    (ONLY, COLUMNS_OF_SETS),
    (ACCOUNTED, changed(STAGES, kept=[8, 3])),
    (ACCOUNTED, changed(STAGES, kept=[8, 4])),  # one lost and one too many are two
    (ACCOUNTED, changed(STAGES, stage=["threads", "threads"])),
    (EDITS, changed(FIGURES, reported=[4, 9, 1, 3, 3, 6])),
    (EDITS, changed(FIGURES, reported=[4, 9, 0, 2, 3, 6])),
    (EDITS, changed(FIGURES, reported=[4, 9, 1, 2, 3, 5])),
    (EDITS, {name: column[:-1] for name, column in FIGURES.items()}),
    (EDITS, {name: [*column, column[0]] for name, column in FIGURES.items()}),
    (LEFT, {"threads": [4], "left": [0]}),
    (LEFT, {"threads": [4], "left": [5]}),
    (LEFT, {"threads": [4, 4], "left": [4, 4]}),
    (custom.ExpectSomethingToBeLeft(may_be_empty=True), {"threads": [0], "left": [1]}),
]
NOT_COUNTS = [
    lambda batch: batch.iloc[:0],
    lambda batch: batch.iloc[:, 1:],
    lambda batch: batch.assign(more=1),
    lambda batch: batch.rename(columns={batch.columns[-1]: "other"}),
    lambda batch: batch.astype("object").assign(**{batch.columns[-1]: None}),
    lambda batch: batch.assign(**{batch.columns[-1]: 3.5}),
    lambda batch: batch.assign(**{batch.columns[-1]: -1}),
    lambda batch: batch.assign(**{batch.columns[-1]: float("nan")}),
    lambda batch: batch.assign(**{batch.columns[-1]: True}),
    lambda batch: pd.concat([batch, batch.iloc[:, -1:]], axis=1),
]


@pytest.fixture(scope="module")
def validate():
    """Validates a pandas batch in a suite of an ephemeral context."""
    context = gx.get_context(mode="ephemeral")
    asset = context.data_sources.add_pandas("pandas").add_dataframe_asset("counts")
    definition = asset.add_batch_definition_whole_dataframe("whole")

    def run(expectation, batch, result_format="COMPLETE"):
        name = f"suite {len(list(context.suites.all()))}"
        suite = context.suites.add(gx.ExpectationSuite(name, expectations=[expectation]))
        validation = gx.ValidationDefinition(name=name, data=definition, suite=suite)
        return validation.run(
            batch_parameters={"dataframe": pd.DataFrame(batch)}, result_format=result_format
        )

    return run


@pytest.mark.parametrize(("expectation", "batch"), GOOD)
def test_good_counts_pass(validate, expectation, batch):
    result = validate(expectation.copy(), batch)
    assert result.success
    assert outcome_of(result.results).counts["violations"] == 0


@pytest.mark.parametrize(("expectation", "batch"), BAD)
def test_bad_counts_fail_without_an_error(validate, expectation, batch):
    result = validate(expectation.copy(), batch)
    assert not result.success
    outcome = outcome_of(result.results)
    assert outcome.error is None
    assert outcome.counts["violations"] > 0


@pytest.mark.parametrize("expectation", [K_USERS, OWNERS, UNIQUE, ONLY, ACCOUNTED, EDITS])
@pytest.mark.parametrize("change", NOT_COUNTS)
def test_batch_of_anything_but_counts_fails(validate, expectation, change):
    good = next(batch for each, batch in GOOD if each is expectation)
    result = validate(expectation.copy(), change(pd.DataFrame(good)))
    assert not result.success
    assert outcome_of(result.results).error is None


def test_a_result_without_counts_is_boolean_only(validate):
    result = validate(K_USERS.copy(), {"users": [3], "sets": [1], "threads": [3]}, "BOOLEAN_ONLY")
    assert result.success
    assert result.results[0].result == {}


def test_strings_of_a_batch_are_not_in_the_result(validate):
    batch = {"name": ["canaryname", "thread"], "type": ["canarytype", "VARCHAR"]}
    assert "canary" not in str(validate(ONLY.copy(), batch))
    stages = changed(STAGES, stage=["canary", "release"], kept=[0, 0])
    assert "canary" not in str(validate(ACCOUNTED.copy(), stages))
    figures = changed(FIGURES, figure=["canary", *FIGURES["figure"][1:]])
    assert "canary" not in str(validate(EDITS.copy(), figures))


def test_exception_is_an_error_without_its_message(validate, monkeypatch):
    def broken(_self, _batch):
        raise ZeroDivisionError("canary")

    monkeypatch.setattr(custom.ExpectEverySetToHaveKUsers, "count_violations", broken)
    outcome = outcome_of(
        validate(K_USERS.copy(), {"users": [3], "sets": [1], "threads": [3]}).results
    )
    assert (outcome.passed, outcome.error) == (False, "ZeroDivisionError")
    assert not outcome.counts


def test_no_result_is_an_error():
    assert not outcome_of([]).passed


@pytest.mark.parametrize("expectation", [K_USERS, OWNERS, UNIQUE, ONLY, ACCOUNTED, EDITS])
def test_description_contains_the_parameters(expectation):
    copy = expectation.copy()
    copy.render()
    [rendered] = copy.rendered_content
    description = rendered.value.template
    assert "$" not in description
    assert description.split("$")[0][:9] == PROMISES[expectation.promise][:9]


@pytest.mark.parametrize("k", [1, 0, -3])
def test_k_is_at_least_two(k):
    with pytest.raises(ValueError, match="k"):
        custom.ExpectEverySetToHaveKUsers(k=k)
