"""Records and owner counts computed in batches equal those computed at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.oracles import keywords_of

from setanon_core.columns.arrays import offsets_of
from setanon_core.columns.records import Records
from setanon_core.keywords import encode_threads as module
from setanon_core.keywords.encode_threads import encode_threads
from setanon_core.model.queries import Queries

THREADS = st.lists(st.lists(st.lists(st.integers(0, 4), max_size=3), max_size=3), max_size=6)


@given(THREADS, st.integers(1, 5), st.data())
def test_batches_of_any_size_give_the_same_records_and_owners(threads, batch_size, data):
    owner = np.array([data.draw(st.integers(0, 2)) for _ in threads], np.int64)
    queries = [(thread, words) for thread, texts in enumerate(threads) for words in texts]
    numbers, words = np.unique([w for _, q in queries for w in q] or [0], return_inverse=True)
    words = words[: sum(len(query) for _, query in queries)]
    typed = Queries(
        words.astype(np.int32),
        offsets_of(np.array([len(query) for _, query in queries], np.int64)),
        np.array([thread for thread, _ in queries], np.int64),
    )
    vocabulary = [f"w{number}" for number in numbers[: len(set(words.tolist()))]]
    item = np.arange(len(vocabulary)) // 2
    thread_of_word = typed.threads[typed.rows]
    sizes = np.bincount(thread_of_word, minlength=len(threads))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "WORDS_PER_BATCH", batch_size)
        keywords, records = encode_threads(typed, vocabulary, item, owner)

    expected = Records.from_columns(item[typed.words], offsets_of(sizes), owner)
    assert records.items.tolist() == expected.items.tolist()
    assert records.offsets.tolist() == expected.offsets.tolist()
    assert records.users.tolist() == expected.users.tolist()
    expected_keywords = keywords_of(vocabulary, item, typed.words, owner[thread_of_word])
    assert keywords.owners.tolist() == expected_keywords.owners.tolist()
