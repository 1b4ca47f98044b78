"""Arrow columns to integer columns, by duck typing: pyarrow is not imported."""

from typing import Any

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.encode import Vocabulary, encode_values
from setanon_core.errors import MalformedInputError


def read_arrow_lists(lists: Any) -> tuple[Ints, Any]:  # noqa: ANN401 - duck-typed Arrow
    """Offsets, from 0, and flattened values of a list column."""
    column = _combine_chunks(lists)
    kind = str(getattr(column, "type", type(column).__name__))
    if not kind.startswith(("list<", "large_list<")):
        raise MalformedInputError(
            f"the records must be an Arrow column of lists; got {kind.partition('<')[0]}. "
            "Cast it to list or large_list."
        )
    if column.null_count:
        raise MalformedInputError(
            f"every record must be a list; {column.null_count} are null. Pass empty lists."
        )
    offsets = column.offsets.to_numpy().astype(np.int64)
    return offsets - offsets[0], column.flatten()


def encode_arrow_column(column: Any, what: str) -> tuple[Ints, Vocabulary]:  # noqa: ANN401 - duck-typed Arrow
    """Number an Arrow column of items or users; creates one Python object per distinct value."""
    combined = _combine_chunks(column)
    try:
        encoded = combined.dictionary_encode()
    except NotImplementedError:
        raise MalformedInputError(
            f"every {what} must be a single value, not a list or a struct. Flatten them first."
        ) from None
    if combined.null_count:
        raise MalformedInputError(f"no {what} may be null; {combined.null_count} are. Drop them.")
    # A dictionary column of the caller may contain nulls, repeated values and unused values.
    codes = encoded.indices.to_numpy()
    used = np.flatnonzero(np.bincount(codes, minlength=len(encoded.dictionary)))
    numbers, vocabulary = encode_values(encoded.dictionary.take(used).to_pylist(), what)
    number_of_code = np.empty(len(encoded.dictionary), np.int64)
    number_of_code[used] = numbers
    return number_of_code[codes], vocabulary


def _combine_chunks(column: Any) -> Any:  # noqa: ANN401 - duck-typed Arrow
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column
