"""A column whose `[]` does not take positions."""


class LabelledColumn(list):
    """A list indexed by label, like a pandas Series; iteration is by position."""

    def __getitem__(self, label):
        return list(reversed(self))[label]
