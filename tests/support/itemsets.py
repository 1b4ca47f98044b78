"""Frequent itemsets of all records of a small data set."""

from setanon_core.columns.sets import Sets
from setanon_core.partition.itemset_counts import FrequentItemsets
from setanon_core.partition.place_records import count_itemsets


def all_itemsets(sets: Sets, min_support: int) -> FrequentItemsets:
    """The itemsets that `min_support` records contain."""
    return count_itemsets([sets], sets.width, min_support)
