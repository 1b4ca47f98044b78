"""Published sets that k users typed whole: brute force, and the gate of `combinations: typed`."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.publishing import K, folder_state, modify, publish_files, stage_files, write_source

from setanon_core.errors import NotAnonymousError
from setanon_dagster.verifier.typed_sets import count_untyped_sets

WORDS = ["lamp", "desk", "rug", "sofa", "bed", "", "it's"]
TYPED = {"method": "best", "combinations": "typed"}


def random_sets(rng, n, most):
    return [rng.choice(WORDS[:-2], rng.integers(1, most), replace=False).tolist() for _ in range(n)]


@pytest.mark.parametrize("form", ["sets", "queries"])
@pytest.mark.parametrize("k", [2, 4])
def test_counts_are_those_of_comparing_every_set_with_every_thread(tmp_path, form, k):
    rng = np.random.default_rng(k)
    typed, users = random_sets(rng, 40, 5), rng.integers(0, 9, 40).tolist()
    published = [*random_sets(rng, 30, 5), ["absent", "lamp"]]
    table = {"thread_id": [f"{n:032x}" for n in range(len(published))]}
    if form == "sets":
        table["keywords"] = list(map(sorted, published))
    else:
        table |= {"position": [0] * len(published), "query": list(map(" ".join, published))}
    parquet.write_table(pa.table(table), tmp_path / "threads.parquet")
    # A word typed twice is one keyword.
    words = pa.table({"user": list(map(str, users)), "words": [each * 2 for each in typed]})
    parquet.write_table(words, tmp_path / "words.parquet")

    paths = tmp_path / "threads.parquet", tmp_path / "words.parquet"
    counted = count_untyped_sets(*paths, k, cores=1, memory="1GB", spill=tmp_path)

    rows = list(zip(users, map(set, typed), strict=True))
    expected = sum(
        len({user for user, each in rows if wanted <= each}) < k
        for wanted in set(map(frozenset, published))
    )
    assert counted == expected
    assert 0 < expected < len(published)


def split_sets(clusters):
    """Every user typed both words of the larger set, but the last user in two threads."""
    words = [
        [sorted(each)[n % 2]] if user.endswith(str(K - 1)) else each
        for n, (user, each) in enumerate(
            zip(clusters["user"].to_pylist(), clusters["words"].to_pylist(), strict=True)
        )
    ]
    position = clusters.column_names.index("words")
    return clusters.set_column(position, "words", pa.array(words))


def test_gate_refuses_sets_that_fewer_than_k_users_typed_whole(tmp_path):
    paths, out = stage_files(tmp_path / "in"), tmp_path / "out"
    publish_files(paths, out, parameters=TYPED)
    before = folder_state(out)
    modify(paths, "clusters", split_sets)
    write_source(paths)
    with pytest.raises(
        NotAnonymousError, match=f"k = {K} users must have typed .*; 1 sets"
    ) as info:
        publish_files(paths, out, parameters=TYPED)
    assert "canary" not in str(info.value)
    assert folder_state(out) == before
    assert publish_files(paths, tmp_path / "any").verdict.ok
