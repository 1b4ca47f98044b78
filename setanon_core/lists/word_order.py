"""The usual order of the words of a query within a group: the one that most users typed.

Paper:      none; the paper publishes each thread's own queries.
Guarantee:  none; heuristic. A query keeps its words.
Complexity: O(W log W) for W words.
Deviation:  none.
"""

import numpy as np

from setanon_core.columns.arrays import Ints, dense_ranks, run_starts, sorted_unique
from setanon_core.lists.query_lists import QueryLists, sequence_ranks
from setanon_core.model.queries import Queries


def usual_queries(lists: QueryLists, texts: Queries, labels: Ints, users: Ints) -> Ints:
    """For each query of the lists, the query with the same words that most users of its group have.

    `texts` are the words of each query number. Ties: the query with the smaller number.
    """
    width = max(int(texts.words.max(initial=0)) + 1, 1)
    words = np.sort(texts.rows * width + texts.words) % width
    bag = sequence_ranks(words, texts.offsets)
    n = len(texts.threads)
    if len(bag) == int(bag.max(initial=-1)) + 1:
        return lists.queries  # no two queries have the same words
    group_query, _ = dense_ranks(labels[lists.rows] * n + lists.queries)
    # Count each user of a group once per query.
    n_users = int(users.max(initial=0)) + 1
    votes = np.bincount(sorted_unique(group_query * n_users + users[lists.rows]) // n_users)
    query, label = np.empty((2, len(votes)), np.int64)
    query[group_query], label[group_query] = lists.queries, labels[lists.rows]
    group_bag, _ = dense_ranks(label * n + bag[query])
    order = np.lexsort((query, -votes, group_bag))
    best = order[run_starts(group_bag[order])]
    return query[best][group_bag][group_query]
