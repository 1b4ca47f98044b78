"""Former names of `support.release_runs`, until all tests use the new ones."""

from support.release_runs import (
    DAYS,
    EXPECTED_SETS,
    ROWS,
    STAGES,
    K,
    RunResult,
    collect_result,
    keyword_sets,
    latest_release,
    materialize,
    modify_stage,
    public_files,
    published_table,
    release_config,
    releases_folder,
    run_job,
    run_release,
    storage,
    stored_path,
    stored_table,
    write_log,
)

__all__ = ["DAYS", "ROWS", "STAGES", "K", "public_files", "run_job", "storage", "write_log"]

Ran = RunResult
Ran.told = property(lambda result: result.events)
asked = release_config
recorded = collect_result
run = run_release
make = materialize
path_of = stored_path
table_of = stored_table
spoil = modify_stage
releases = releases_folder
latest = latest_release
published = published_table
SETS = EXPECTED_SETS
sets_of = keyword_sets
