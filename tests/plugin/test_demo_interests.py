"""The log with persistent interests: reproducible, of the demo's shape, and linkable."""

from collections import Counter
from hashlib import sha256
from itertools import combinations

import numpy as np
import pytest

from setanon_core.errors import InvalidParameterError
from setanon_core.model.inputs import Log
from setanon_core.model.publication import QueryRelease
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.log import threads_of_log
from setanon_core.risk.attack_data import AttackData, TypedRows
from setanon_core.risk.stitching import stitching
from setanon_dagster.demo import interests
from setanon_dagster.demo.interests import People, draw_threads, interest_rows
from setanon_dagster.demo.log import demo_rows, write_demo_log
from setanon_dagster.demo.words import ABSENT, HEAD, PER_TOPIC, SITE_FORMS, Vocabulary

SMALL = {"users": 300, "queries": 1500}


def columns_of(rows_of=interest_rows, **options):
    chunks = list(rows_of(**options))
    return tuple([value for chunk in chunks for value in chunk[column]] for column in range(3))


def test_equal_seeds_write_equal_bytes_on_every_machine(tmp_path):
    path = tmp_path / "log.tsv"
    write_demo_log(path, **SMALL, seed=7, rows_of=interest_rows)
    assert sha256(path.read_bytes()).hexdigest() == (
        "34f2a696a4f867cb9dbd698eb6b3fbda617b96855a3a0012054c47e81e76e07e"
    )


def test_columns_and_counts_are_those_of_the_demo_log():
    users, times, queries = columns_of(**SMALL)

    assert len(users) == len(times) == len(queries) == 1500
    assert set(users) == set(columns_of(demo_rows, **SMALL)[0])
    assert list(zip(users, times, strict=True)) == sorted(zip(users, times, strict=True))
    assert all(map(str.strip, queries))


def test_another_seed_gives_other_queries():
    assert columns_of(**SMALL, seed=1)[2] != columns_of(**SMALL, seed=2)[2]


def test_arguments_are_checked_at_once():
    with pytest.raises(InvalidParameterError, match="users"):
        interest_rows(users=0)


def test_chunks_never_split_a_user(monkeypatch):
    monkeypatch.setattr("setanon_dagster.demo.log.CHUNK_ROWS", 400)
    chunks = [set(names) for names, _, _ in interest_rows(**SMALL)]

    assert len(chunks) > 2
    assert not any(one & other for one, other in combinations(chunks, 2))


@pytest.fixture(scope="module")
def drawn():
    """People with a thousand threads each, and their vocabulary."""
    rng = np.random.default_rng(4)
    vocabulary = Vocabulary.for_threads(2000)
    people = People.draw(rng, 40, vocabulary)
    user = np.repeat(np.arange(40), 1000)
    table, names = draw_threads(rng, people, user, vocabulary)
    return vocabulary, people, table.reshape(40, 1000, -1), np.array(names).reshape(40, 1000)


def share(values, wanted):
    """Share of the present values that are among the wanted ones."""
    present = values[values != ABSENT]
    return np.isin(present, wanted).mean()


def test_people_return_to_their_home_fields_sites_and_name(drawn):
    vocabulary, people, table, names = drawn
    common = len(vocabulary.topics) * PER_TOPIC
    places = common + len(vocabulary.common)
    sites = places + len(vocabulary.places)
    for person in range(40):
        words = table[person]
        is_site = words[:, HEAD] >= sites
        heads = words[~is_site, HEAD]
        fields = heads // PER_TOPIC // interests.FIELD
        forms = people.sites[person] * len(SITE_FORMS) + people.form[person]
        assert share(words[:, interests.PLACE], places + people.home[person]) > 0.8
        assert share(fields, people.topics[person] // interests.FIELD) > 0.75
        assert share(words[is_site, HEAD], sites + forms) > 0.7
        assert share(words[:, interests.COMMON], common + people.common[person]) > 0.75
        assert len(set(heads.tolist())) >= interests.FIELD
        assert Counter(names[person].tolist()).most_common(1)[0][1] > 200


def test_habits_change_how_many_words_a_thread_has(drawn):
    _, people, table, _ = drawn
    details = np.count_nonzero(table[:, :, HEAD + 1 : HEAD + PER_TOPIC] != ABSENT, axis=2).mean(1)
    places = (table[:, :, interests.PLACE] != ABSENT).mean(axis=1)

    for habit, counts in ((people.detail, details), (people.locality, places)):
        low, middle, high = (counts[habit == choice] for choice in range(3))
        assert low.max() < middle.min()
        assert middle.max() < high.min()


def test_word_orders_are_permutations_that_move_only_the_first_and_last_column():
    assert all(sorted(order) == list(range(8)) for order in interests.ORDERS.tolist())
    for order in interests.ORDERS.tolist():
        assert [column for column in order if 0 < column < 7] == [1, 2, 3, 4, 5, 6]


def attack(rows_of):
    users, times, queries = columns_of(rows_of, users=3000)
    log = Log(users, np.array(times, "datetime64[s]").astype(np.int64), queries)
    threads = threads_of_log(log, ReleaseParams(k=3))
    texts = threads.keywords.vocabulary
    rows = [
        (thread, threads.records.users[thread], " ".join(texts[word] for word in words))
        for thread, words in threads.typed.lists()
    ]
    typed = TypedRows(*([row[column] for row in rows] for column in range(3)))
    data = AttackData.from_columns(typed, QueryRelease((), (), ()), None, k=3)
    return stitching(data.unedited(), pairs=2000, lineups=200)


@pytest.mark.slow
def test_threads_can_be_linked_and_those_of_the_demo_log_cannot():
    linkable, independent = attack(interest_rows), attack(demo_rows)

    # The standard error of an AUC of 2,000 pairs of each kind is 0.009.
    assert linkable.auc > 0.53
    assert linkable.auc_unsupervised > 0.515
    assert linkable.precision_at_top > 0.8
    assert abs(independent.auc - 0.5) < 0.03
    assert independent.precision_at_top < 0.7
