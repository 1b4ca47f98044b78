"""Integer codes for Arrow text columns, and list columns built from flat ones."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from setanon_core.columns.arrays import Ints, inverse_permutation, offsets_of


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


class TextColumn:
    """A text column read in batches; stores each text once, and a code per row."""

    def __init__(self) -> None:
        """Start empty."""
        self._batches: list[pa.DictionaryArray] = []

    def append(self, texts: pa.Array) -> None:
        """Add a batch."""
        self._batches.append(texts.dictionary_encode())

    def encode_sorted(self) -> tuple[list[str], npt.NDArray[np.int32]]:
        """The sorted distinct texts, and the code of each row. Empties the column."""
        encoded = pa.chunked_array(self._batches, pa.dictionary(pa.int32(), pa.string()))
        self._batches.clear()
        chunks = encoded.unify_dictionaries().chunks
        del encoded
        texts = chunks[0].dictionary if chunks else pa.array([], pa.string())
        order: Ints = pc.sort_indices(texts).to_numpy()
        rank = inverse_permutation(order).astype(np.int32)
        codes = np.empty(sum(map(len, chunks)), np.int32)
        end = len(codes)
        while chunks:  # free each chunk before the next one is read
            start = end - len(chunks[-1])
            np.take(rank, chunks.pop().indices.to_numpy(), out=codes[start:end])
            end = start
        return texts.take(pa.array(order)).to_pylist(), codes


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
