"""A 64-bit mixing function for integer columns."""

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.uint64]


def mix64(numbers: Keys) -> Keys:
    """The finalizer of splitmix64: a bijection that distributes similar numbers evenly."""
    key = numbers ^ numbers >> np.uint64(30)
    key *= np.uint64(0xBF58476D1CE4E5B9)
    key ^= key >> np.uint64(27)
    key *= np.uint64(0x94D049BB133111EB)
    key ^= key >> np.uint64(31)
    return key
