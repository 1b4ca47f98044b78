"""Where the data come from: text files, Parquet files, or tables of a DuckDB file."""

from setanon_dagster.sources.intake import REASONS, Read
from setanon_dagster.sources.read import read_source
from setanon_dagster.sources.source import Source

__all__ = ["REASONS", "Read", "Source", "read_source"]
