"""The stages as functions of Arrow tables and streams; no Dagster.

Path of one row, and how its words are represented:

    threads       rows of the log -> rows of threads; a query is a text
    clusters      rows of threads -> one row per thread; words, items and keys as Arrow columns
    load_threads  stored clusters -> `setanon_core` threads; a word is an int32 code
    anonymize     groups, edits and ids on codes -> published rows and ledger as Arrow text
    cost_report   the cost of each round -> a table

Stages exchange Parquet files, whose words are texts; within a stage, words are codes.
"""
