"""DuckDB connections, Parquet files, atomic writes and private folders; nothing of Dagster."""
