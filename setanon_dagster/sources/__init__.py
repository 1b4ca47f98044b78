"""Read logs and baskets from text files, Parquet files and tables of DuckDB files."""
