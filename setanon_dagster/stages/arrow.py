"""Numbers for the texts of Arrow columns, and lists made of columns."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from setanon_core.columns.arrays import Ints, inverse_permutation, offsets_of


def numbered(column: pa.ChunkedArray | pa.Array) -> tuple[Ints, pa.Array]:
    """Number the values of a text column in their order, and list them; one object for each."""
    codes, values = coded(column)
    # Bytes of UTF-8 sort as Python sorts text, so numbers are those of a sorted vocabulary.
    order = pc.sort_indices(values).to_numpy()
    return inverse_permutation(order)[codes], values.take(pa.array(order))


def coded(column: pa.ChunkedArray | pa.Array) -> tuple[Ints, pa.Array]:
    """The same, numbered as they come."""
    encoded = column.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        # All chunks have the dictionary of the last: only numbers are put together.
        encoded = encoded.combine_chunks()
        encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    return encoded.indices.to_numpy(), encoded.dictionary


def lists(holder: Ints, n: int, values: pa.Array) -> pa.Array:
    """A list for each of n threads; `holder` has the thread of each value, in order."""
    offsets = offsets_of(np.bincount(holder, minlength=n))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
