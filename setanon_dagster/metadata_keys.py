"""Keys of the metadata that assets attach to their materializations.

Assets write them; checks, the command line and the report read them through these constants.
Dagster's own keys, such as `dagster/row_count`, keep Dagster's names.
"""

from typing import Final

PREFIX: Final = "setanon/"

# raw_log, raw_baskets
LINES: Final = f"{PREFIX}lines"
ACCEPTED: Final = f"{PREFIX}accepted"
OUTSIDE: Final = f"{PREFIX}outside_partition"
ENCODINGS: Final = f"{PREFIX}encodings"

# rejected_rows: one key per reason
REJECTED: Final = f"{PREFIX}rejected/"

# threads, clusters
USERS: Final = f"{PREFIX}users"
THREADS: Final = f"{PREFIX}threads"
QUERIES_PER_THREAD: Final = f"{PREFIX}queries_per_thread"
KEYWORDS_PER_THREAD: Final = f"{PREFIX}keywords_per_thread"
P: Final = f"{PREFIX}p"
CLUSTERS: Final = f"{PREFIX}clusters"
LARGEST_CLUSTER: Final = f"{PREFIX}largest_cluster"
PLACES: Final = f"{PREFIX}places"
LARGEST_PLACE: Final = f"{PREFIX}largest_place"
LARGEST_TO_MEAN: Final = f"{PREFIX}largest_place_to_mean"
SEVERAL_PLACES: Final = f"{PREFIX}threads_with_several_places"
UNCHANGED: Final = f"{PREFIX}threads_without_place"

# anonymized_threads, release
GROUPS: Final = f"{PREFIX}groups"
SMALLEST_GROUP: Final = f"{PREFIX}smallest_group"
WITHDRAWALS: Final = f"{PREFIX}withdrawals"

# cost_report, release
ADDITIONS: Final = f"{PREFIX}additions"
DELETIONS: Final = f"{PREFIX}deletions"
RESPELLINGS: Final = f"{PREFIX}respellings"
LOWER_BOUND: Final = f"{PREFIX}lower_bound"
RETAINED: Final = f"{PREFIX}retained"
FACTOR: Final = f"{PREFIX}factor"

# release
STATE: Final = f"{PREFIX}state"
RELEASE: Final = f"{PREFIX}release"
FOLDER: Final = f"{PREFIX}folder"
SHA256: Final = f"{PREFIX}sha256"
VIOLATIONS: Final = f"{PREFIX}violations"
DELETED_AS_RARE: Final = f"{PREFIX}deleted_as_rare"
DELETED_IN_GROUPS: Final = f"{PREFIX}deleted_in_groups"
SUMMARY: Final = f"{PREFIX}summary"
COST_BY_ROUND: Final = f"{PREFIX}cost_by_round"
COST_BY_CAUSE: Final = f"{PREFIX}cost_by_cause"
COST_BY_K: Final = f"{PREFIX}cost_by_k"
GROUP_SIZES: Final = f"{PREFIX}group_sizes"
REPORT: Final = f"{PREFIX}report"
DATA_DOCS: Final = f"{PREFIX}data_docs"

# checks that could not run
CHECK_ERROR: Final = f"{PREFIX}check_error"

# every stored asset
BYTES: Final = f"{PREFIX}bytes"

# output of the verify job
RELEASES: Final = f"{PREFIX}releases"
