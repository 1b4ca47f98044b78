"""Compare all pairs of texts by a similarity measure."""

import numpy as np


def similarity_matrix(measure, texts):
    """Whether text i is similar to text j, for all i and j."""
    a, b = np.divmod(np.arange(len(texts) ** 2), len(texts))
    return measure.prepare(texts)(a, b).reshape(len(texts), len(texts))
