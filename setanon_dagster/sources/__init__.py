"""Sources: text files, Parquet files, tables of a DuckDB file."""
