"""A file with bytes other than those written for its rows is found, whatever they contain."""

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.log_stages import log_stages, publish_log

from setanon_dagster.verifier.written_bytes import has_written_bytes

HIDDEN = b"canaryhidden"


@pytest.mark.parametrize("form", ["queries", "edited", "sets"])
def test_published_file_has_the_bytes_written_for_its_rows(tmp_path, form):
    paths = log_stages(tmp_path / "stages", form=form)
    release = publish_log(paths, tmp_path / "out", form=form)
    path = release.folder / "threads.parquet"
    assert has_written_bytes(path)
    assert has_written_bytes(path, memory="200MB", spill=tmp_path)
    assert not [each for each in tmp_path.iterdir() if each.name.startswith("setanon-")]


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    return publish_log(log_stages(folder / "stages"), folder / "out").folder / "threads.parquet"


def between_rows_and_footer(path):
    data = path.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    path.write_bytes(data[:footer] + HIDDEN + data[footer:])


def unused_value_of_a_dictionary(path):
    table = parquet.read_table(path)
    queries = table["query"].combine_chunks().dictionary_encode()
    values = pa.concat_arrays([queries.dictionary, pa.array([HIDDEN.decode()])])
    table = table.set_column(2, "query", pa.DictionaryArray.from_arrays(queries.indices, values))
    parquet.write_table(table, path, compression="none", store_schema=False)


def name_of_the_writer(path):
    path.write_bytes(path.read_bytes().replace(b"DuckDB versi", HIDDEN))


def name_of_the_schema(path):
    path.write_bytes(path.read_bytes().replace(b"duckdb_schem", HIDDEN))


@pytest.mark.parametrize(
    "change",
    [
        between_rows_and_footer,
        unused_value_of_a_dictionary,
        name_of_the_writer,
        name_of_the_schema,
    ],
)
def test_hidden_bytes_are_found(tmp_path, published, change):
    path = tmp_path / "threads.parquet"
    path.write_bytes(published.read_bytes())
    change(path)
    assert HIDDEN in path.read_bytes()
    assert parquet.read_table(path).to_pylist() == parquet.read_table(published).to_pylist()
    assert not has_written_bytes(path)


def test_other_sizes_of_row_groups_are_found(tmp_path, published):
    path = tmp_path / "it's [here].parquet"
    path.write_bytes(published.read_bytes())
    assert has_written_bytes(path)
    parquet.write_table(parquet.read_table(path), path, row_group_size=1, store_schema=False)
    assert not has_written_bytes(path)
