"""Partition plan: records are grouped place by place, for logs that do not fit into memory.

How the functions are run; `group_in_places` runs all of them, those of a place by the executor:

- on any part of the records, with small tables: `candidates`, `find_wishes`, `neighbour_counts`,
  `Plan.place_of`, `destinations`; their counts are added by `add_counts`
- on all records of a set: `count_undersized`, `surplus_of_sets`; `count_sizes` and `count_long` of
  the bound take any part of the distinct sets
- on all records of a place: `group_place`, `compare_at_place`, `reopen_at_place`
- on all members of a group: the steps of `group_parts`
- on all short sets with an item of a range: `count_overlaps`; then `bound_of_sets` for each set
- on small tables: `FrequentItemsets.with_level`, `make_plan`, `count_places`, `short_limit`
"""
