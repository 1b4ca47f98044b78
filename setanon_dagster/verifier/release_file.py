"""Verification of a published file in SQL, with code that shares nothing with the stages.

Guarantee:  a file is accepted only if it has the columns and order of a release and nothing else,
            and at least k users share every set in it (Definition 1) and, in the format "queries",
            every list of queries. Lists and sets are compared character by character. The verdict
            contains counts only. A file that cannot be read raises an error.
Complexity: three scans of the file, one of the ledger; DuckDB spills to disk what exceeds memory.
"""
# ruff: noqa: S608 - statements are built from constants, integers and SQL of this package

from collections.abc import Sequence
from pathlib import Path

from setanon_core.errors import InvalidParameterError
from setanon_core.ranges import check_choice, check_k
from setanon_dagster.verifier.attribute_tokens import (
    attribute_columns,
    count_attribute_faults,
    count_values,
    create_file_view,
    create_vocabularies,
)
from setanon_dagster.verifier.keyword_owners import count_rare_keywords
from setanon_dagster.verifier.ledger_entries import entries_of_members, match_entries
from setanon_dagster.verifier.release_format import (
    CONTROL_CHARACTERS,
    FORMATS,
    KEYWORD_LIST,
    RELEASE_COLUMNS,
    SEPARATOR,
    SET_IF_SORTED,
    SET_OF_SPELLING,
    WELL_FORMED_ID,
    closest_layout,
    has_empty_keyword,
    is_not_a_sorted_set,
    layout_of,
    published_keywords,
    rows_with_previous,
    thread_spellings,
)
from setanon_dagster.verifier.sql import (
    Connection,
    count_footer_entries,
    create_view,
    open_connection,
    query_counts,
)
from setanon_dagster.verifier.user_groups import (
    LEDGER_FAULTS,
    create_groups,
    create_groups_without_users,
    group_sizes,
)
from setanon_dagster.verifier.verdict import DetailedVerdict


def verify_file(  # noqa: PLR0913 - the file, two files to compare it with, and three limits
    path: Path,
    k: int,
    ledger: Path | None = None,
    *,
    format: str | None = None,  # noqa: A002 - the name of the parameter everywhere
    words: Path | None = None,
    min_owners: int | None = None,
    attributes: Sequence[str] = (),
    cores: int | None = None,
    memory: str | None = None,
    spill: Path | None = None,
) -> DetailedVerdict:
    """Count the faults that keep a file (Parquet or TSV) from being a k-anonymous release.

    With the ledger (thread_id, user), distinct users are counted. Without it, each thread counts
    as one user: more cannot be checked from the file alone. `format` None is "sets" or "queries",
    depending on the columns; "edited" promises k users for the sets only, and has to be asked for.
    `words` (user, words) has the keywords that each user typed; at least `min_owners` users, by
    default k, must have typed each keyword. `attributes` are the further columns that the file
    must have: k users share them, too, and `words` has those of each thread. `cores` and `memory`
    ("4GB") limit DuckDB, which spills into a temporary folder in `spill`.
    """
    k = check_k(k)
    owners = k if min_owners is None else min_owners
    if owners < 0:
        raise InvalidParameterError(f"min_owners must be 0 (off) or more; got {owners}.")
    if format is not None:
        check_choice("format", format, FORMATS)
    if format == "edited" and attributes:
        raise InvalidParameterError(
            "attributes must be with the format queries or sets; got edited, in which k users "
            "share the sets alone. Verify another format."
        )
    with open_connection(cores, memory, spill) as connection:
        columns = create_view(connection, "published_rows", path)
        further = attribute_columns(attributes)
        layout, wrong_columns = closest_layout(columns, format and layout_of(format), further)
        if not {*RELEASE_COLUMNS[layout], *further} <= set(columns):
            return DetailedVerdict(k, 0, 0, 0, 0, 0, wrong_columns=wrong_columns)
        create_file_view(connection, layout, attributes)
        if ledger is not None:
            create_view(connection, "ledger", ledger)
        with_ledger = ledger is not None
        is_sorted = _read_sorted_rows(connection, layout, with_ledger=with_ledger)
        faults = {"nulls": 0} if is_sorted else _count_row_faults(connection, layout)
        faults |= _create_groups(connection, layout, with_ledger=with_ledger, is_sorted=is_sorted)
        faults["wrong_columns"] = wrong_columns
        faults["nulls"] += faults.pop("null_sets")
        faults["footer_entries"] = count_footer_entries(connection, path)
        values = count_values(connection, layout, attributes) if attributes else ()
        if attributes:
            faults = _with_attribute_faults(connection, layout, attributes, faults)
        if words is not None:
            create_view(connection, "typed_words", words)
            create_vocabularies(connection, attributes)
            faults["rare_keywords"] = count_rare_keywords(
                connection, published_keywords(layout), "vocabularies", owners
            )
        groups = "(FROM groups WHERE keywords IS NOT NULL)"
        counts = query_counts(
            connection,
            f"""SELECT coalesce(sum(threads), 0) AS records, count(*) AS groups,
                coalesce(min(users), 0) AS smallest_group,
                coalesce(sum(threads) FILTER (users < {k}), 0) AS violations,
                count(*) FILTER (users < {k}) AS violating_groups,
                coalesce(sum(threads * len({KEYWORD_LIST[layout]})), 0) AS keywords
                FROM {groups}""",
        )
        counts["keywords"] -= sum(n for _, n in values)
        if layout == "queries":
            faults |= _count_lists(connection, k)
            if format != "edited":
                # Fewer users share a list than share its set: these include the threads above.
                counts["violations"] = faults["exposed_threads"]
            else:
                faults["violating_lists"] = 0
        sizes = group_sizes(connection, groups)
        return DetailedVerdict(k, **counts, **faults, attributes=values, sizes=sizes)


def _with_attribute_faults(
    connection: Connection, layout: str, attributes: Sequence[str], faults: dict[str, int]
) -> dict[str, int]:
    """The faults of a file, with those of its attributes."""
    found = count_attribute_faults(connection, layout, attributes)
    for name in ("nulls", "empty_sets"):
        found[name] += faults[name]
    # Texts are counted in the rows: the tokens of the view have control characters.
    return faults | found


def _count_lists(connection: Connection, k: int) -> dict[str, int]:
    """Count the lists of queries, and those of fewer than k users and of one user."""
    return query_counts(
        connection,
        f"""SELECT count(*) AS lists,
            count(*) FILTER (users < {k}) AS violating_lists,
            coalesce(sum(threads) FILTER (users < {k}), 0) AS exposed_threads,
            coalesce(sum(threads) FILTER (users <= 1), 0) AS single_user_threads
            FROM lists WHERE spelling IS NOT NULL""",
    )


def _read_sorted_rows(connection: Connection, form: str, *, with_ledger: bool) -> bool:
    """Create the table `members` and return True if rows and ledger have no fault."""
    try:
        from setanon_dagster.verifier.sorted_threads import create_members
    except ImportError:  # pyarrow is not required: without it, statements in SQL find the faults
        return False
    return create_members(connection, form, with_ledger=with_ledger)


def _create_groups(
    connection: Connection, form: str, *, with_ledger: bool, is_sorted: bool
) -> dict[str, int]:
    """Create the tables `groups` and `lists`, and count the faults of ledger, sets and lists.

    `is_sorted`: rows and ledger have no fault, and the table `members` has their threads.
    """
    threads = thread_spellings(form, "(FROM file WHERE thread_id IS NOT NULL)")
    if not with_ledger:
        threads = "FROM members" if is_sorted else threads
        create_groups_without_users(connection, threads, SET_IF_SORTED[form])
        faults = _count_set_faults(connection, form)
        if faults["unsorted_sets"]:
            # A set may have several spellings: group again by sorted sets.
            create_groups_without_users(connection, threads, SET_OF_SPELLING[form])
        return faults
    faults, members = (
        entries_of_members(connection) if is_sorted else match_entries(connection, threads)
    )
    create_groups(connection, members, SET_IF_SORTED[form], LEDGER_FAULTS)
    faults |= _count_set_faults(connection, form)
    faults |= query_counts(
        connection,
        """SELECT coalesce(sum(unknown) FILTER (keywords IS NOT NULL), 0) AS unknown_threads,
            coalesce(sum(threads - unknown) FILTER (keywords IS NULL), 0)
                AS unpublished_entries FROM groups""",
    )
    if faults["unsorted_sets"]:
        create_groups(connection, members, SET_OF_SPELLING[form], LEDGER_FAULTS)
    return faults


def _count_row_faults(connection: Connection, form: str) -> dict[str, int]:
    """Count the faults of single rows and of neighboring rows."""
    queries = form == "queries"
    # DuckDB answers this from the statistics of the file if they exclude nulls.
    null = "thread_id IS NULL" + " OR position IS NULL OR query IS NULL" * queries
    return query_counts(
        connection, f"SELECT count(*) AS nulls FROM file WHERE {null}"
    ) | query_counts(
        connection,
        f"""SELECT count(*) FILTER (NOT {WELL_FORMED_ID}) AS malformed_ids,
            count(*) FILTER (thread_id = previous_id AND position = previous_position)
                AS repeated_rows,
            count(*) FILTER (thread_id < previous_id
                OR (thread_id = previous_id AND position < previous_position))
                AS unsorted_rows,
            count(*) FILTER ({queries} AND position <> CASE
                WHEN thread_id = previous_id THEN previous_position + 1 ELSE 0 END)
                AS broken_positions FROM ({rows_with_previous(form, "file")})""",
    )


def _count_set_faults(connection: Connection, form: str) -> dict[str, int]:
    """Count the threads with a faulty set, and the malformed texts of queries."""
    words, is_list = KEYWORD_LIST[form], form == "sets"
    malformed = {} if is_list else _count_malformed_texts(connection)
    return malformed | query_counts(
        connection,
        f"""SELECT
            coalesce(sum(threads - absent) FILTER (keywords IS NULL AND {is_list}), 0) AS null_sets,
            coalesce(sum(threads) FILTER (len({words}) = 0), 0) AS empty_sets,
            coalesce(sum(threads) FILTER ({has_empty_keyword(words)}), 0) AS empty_words,
            coalesce(sum(threads) FILTER ({is_list} AND {is_not_a_sorted_set(words)}), 0)
                AS unsorted_sets FROM groups""",
    )


def _count_malformed_texts(connection: Connection) -> dict[str, int]:
    """Count the control characters of queries; those other than newlines once per thread."""
    # Queries without newlines give lists with one newline less than they have queries.
    return query_counts(
        connection,
        f"""SELECT coalesce(sum(threads * (length(spelling)
                - length(replace(spelling, {SEPARATOR}, '')) + 1)), 0)
            - (SELECT count(query) FROM file WHERE thread_id IS NOT NULL)
            + coalesce(sum(threads) FILTER (regexp_matches(spelling, {CONTROL_CHARACTERS})), 0)
                AS malformed_texts FROM lists WHERE spelling IS NOT NULL""",
    )
