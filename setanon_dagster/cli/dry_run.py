"""Read and cluster a source in memory, for commands that publish nothing."""

import pyarrow as pa
from rich.console import Console

from setanon_dagster.cli.summary import describe_lines, print_values
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.sources.read import read_source
from setanon_dagster.stages.clusters import basket_clusters_table, clusters_table
from setanon_dagster.stages.threads import threads_table
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.temporary import temporary_folder


def raw_table(config: ReleaseConfig) -> pa.Table:
    """Accepted rows of the source: the table of `raw_log` or `raw_baskets`.

    Lines read and rejected, and encodings, are printed as for a release, but to stderr.
    """
    # Rows are private: DuckDB spills into a temporary folder with mode 0700.
    with temporary_folder() as spill:
        connection = connect(temp_folder=spill)
        read = read_source(
            config.source,
            connection=connection,
            user_names=config.user_names,
            timezone=config.timezone,
            attributes=config.attributes,
        )
        lines = describe_lines(read.lines, read.rejected_by_reason, ", ".join(read.encodings))
        print_values(Console(stderr=True), [("lines", lines)])
        return read.accepted.to_arrow_table()


def cluster_source(config: ReleaseConfig) -> pa.Table:
    """Threads, or baskets, of a source with their items: the table of `clusters`."""
    raw = raw_table(config)
    if config.source.kind == "baskets":
        return basket_clusters_table(raw)
    params = config.params()
    return clusters_table(threads_table(raw, params), params)
