"""Parquet files, DuckDB connections, atomic writes, private folders."""
