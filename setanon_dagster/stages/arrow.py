"""Integer codes for Arrow text columns, and list columns built from flat ones."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from setanon_core.columns.arrays import Ints, inverse_permutation, offsets_of
from setanon_core.runtime.column_files import StoredColumns, store_columns


def encode(column: pa.ChunkedArray | pa.Array) -> tuple[Ints, pa.Array]:
    """Codes of the values in order of first appearance, and the distinct values.

    >>> codes, values = encode(pa.array(["b", "a", "b"]))
    >>> codes.tolist(), values.to_pylist()
    ([0, 1, 0], ['b', 'a'])
    """
    encoded = column.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        # All chunks share the last dictionary, so only the codes are concatenated.
        encoded = encoded.combine_chunks()
        encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    return encoded.indices.to_numpy(), encoded.dictionary


def encode_sorted(column: pa.ChunkedArray | pa.Array) -> tuple[Ints, pa.Array]:
    """Codes of the values in sorted order, and the sorted distinct values.

    >>> codes, values = encode_sorted(pa.array(["b", "a", "b"]))
    >>> codes.tolist(), values.to_pylist()
    ([1, 0, 1], ['a', 'b'])
    """
    codes, values = encode(column)
    # UTF-8 bytes sort as Python sorts strings, so the codes match the core's.
    order = pc.sort_indices(values).to_numpy()
    return inverse_permutation(order)[codes], values.take(pa.array(order))


def list_column(rows: Ints, n: int, values: pa.Array) -> pa.Array:
    """A list per row for n rows; `rows` is the row of each value, in ascending order."""
    offsets = offsets_of(np.bincount(rows, minlength=n))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


def text_array(texts: Sequence[str] | pa.Array) -> pa.Array:
    """Texts as an Arrow array."""
    return texts if isinstance(texts, pa.Array) else pa.array(texts, pa.string())


class TextColumn:
    """A text column read in batches; stores each text once per batch, and a code per row.

    The codes are in files if there is a folder of columns.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._texts: list[pa.DictionaryArray] = []
        self._codes: list[StoredColumns] = []
        self._rows = 0

    def append(self, texts: pa.Array) -> None:
        """Add a batch."""
        encoded = texts.dictionary_encode()
        self._codes.append(store_columns(encoded.indices.to_numpy()))
        numbers = pa.array(np.arange(len(encoded.dictionary), dtype=np.int32))
        self._texts.append(pa.DictionaryArray.from_arrays(numbers, encoded.dictionary))
        self._rows += len(texts)

    def encode_sorted(self) -> tuple[pa.Array, Iterator[npt.NDArray[np.int32]]]:
        """The sorted distinct texts, and the codes of each batch. Empties the column."""
        encoded = pa.chunked_array(self._texts, pa.dictionary(pa.int32(), pa.string()))
        self._texts.clear()
        chunks = encoded.unify_dictionaries().chunks
        del encoded
        texts = chunks[0].dictionary if chunks else pa.array([], pa.string())
        order: Ints = pc.sort_indices(texts).to_numpy()
        rank = inverse_permutation(order).astype(np.int32)
        ranks = [rank[chunk.indices.to_numpy()] for chunk in chunks]
        return texts.take(pa.array(order)), self._read(ranks)

    def _read(self, ranks: list[npt.NDArray[np.int32]]) -> Iterator[npt.NDArray[np.int32]]:
        """Codes in sorted order; each batch is freed when it was read."""
        codes, self._codes = self._codes[::-1], []
        for rank in ranks:
            yield rank[codes.pop().take()[0]]

    def encode_all(self) -> tuple[list[str], npt.NDArray[np.int32]]:
        """The sorted distinct texts, and the code of each row. Empties the column."""
        column, end = np.empty(self._rows, np.int32), 0
        texts, batches = self.encode_sorted()
        for codes in batches:
            column[end : end + len(codes)] = codes
            end += len(codes)
        return texts.to_pylist(), column


class Int32Column:
    """An int32 array that grows in place."""

    def __init__(self) -> None:
        """Start empty."""
        self._buffer: npt.NDArray[np.int32] = np.empty(1024, np.int32)
        self._size = 0

    def append(self, numbers: npt.NDArray[Any]) -> None:
        """Add numbers at the end."""
        size = self._size + len(numbers)
        if size > len(self._buffer):
            # realloc moves pages instead of copying; no other reference to the buffer exists.
            self._buffer.resize(size + size // 4, refcheck=False)
        self._buffer[self._size : size] = numbers
        self._size = size

    @property
    def values(self) -> npt.NDArray[np.int32]:
        """The numbers added so far."""
        return self._buffer[: self._size]
