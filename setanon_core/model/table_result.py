"""Results as tables: of the kind that was passed in, or of pandas, Polars or Arrow."""

from typing import Any

from setanon_core.columns.tables import TableConstructor, constructor_named


class TableResult:
    """A result whose columns can be returned as a table of any kind."""

    __slots__ = ()

    constructor: TableConstructor
    """Builds the table of `to_frame`: that of the table that was passed in."""

    def table_columns(self) -> dict[str, Any]:
        """The columns of the table by name, as lists."""
        raise NotImplementedError

    def to_frame(self, constructor: TableConstructor | None = None) -> Any:  # noqa: ANN401 - a table
        """A table of the kind that was passed in; `constructor` builds another kind."""
        return (constructor or self.constructor)(self.table_columns())

    def to_pandas(self) -> Any:  # noqa: ANN401 - pandas is not imported here
        """The table as a data frame of pandas, which must be installed."""
        return self.to_frame(constructor_named("pandas"))

    def to_polars(self) -> Any:  # noqa: ANN401 - Polars is not imported here
        """The table as a data frame of Polars, which must be installed."""
        return self.to_frame(constructor_named("polars"))

    def to_arrow(self) -> Any:  # noqa: ANN401 - Arrow is not imported here
        """The table as a table of Arrow; pyarrow must be installed."""
        return self.to_frame(constructor_named("pyarrow"))
