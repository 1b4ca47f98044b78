"""Read a text file (TSV, CSV, one basket per line; plain or gzip) in batches of cells."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from setanon_dagster.sources.cell_batch import CellBatch
from setanon_dagster.sources.csv_batches import csv_batches
from setanon_dagster.sources.csv_detection import detect_dialect, detect_layout, read_head
from setanon_dagster.sources.line_blocks import line_blocks, open_text
from setanon_dagster.sources.source import Source


def text_batches(source: Source, path: Path, line: int) -> Iterator[CellBatch]:
    """Yield the batches of a file whose first line has number `line`; skip the header."""
    with open_text(path) as stream:
        blocks = line_blocks(stream, source.longest_line)
        first = next(blocks, b"")
        while first and not first.strip(b"\r\n"):
            # Nothing can be detected from blank lines; they are only counted.
            blank = len(first.splitlines())
            yield CellBatch(None, 0, blank, blank)
            line += blank
            first = next(blocks, b"")
        dialect = detect_dialect(source, path, first)
        head = read_head(first, dialect)
        layout, header = detect_layout(source, path, head)
        size = lines = blank = 0
        for record in head if header else ():
            size, lines = size + record.size, lines + record.lines
            if not record.is_blank:
                break
            blank += 1
        yield CellBatch(None, 0, blank, lines)
        yield from csv_batches(chain([first[size:]], blocks), dialect, layout, line + lines)
