"""CPU time and memory of the driver that merges files of Spark's executors, without Spark.

python bench/spark_merge.py FILE COPIES

FILE: the Parquet file of the stage `threads`; its rows are merged COPIES times. Prints JSON.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from markdown_table import Row
from measure import peak_megabytes, run
from pyarrow import parquet

from setanon_dagster.engines.spark import MEMORY_LIMIT
from setanon_dagster.engines.spark_files import merge_parts


def measure_merge(file: Path, copies: int) -> Row:
    """Merge in a new process."""
    result = run([sys.executable, __file__, str(file), str(copies)])
    if result.failure:
        raise RuntimeError(result.failure)
    row: Row = json.loads(result.out)
    return row


def main() -> None:
    """Merge once."""
    file, copies = Path(sys.argv[1]).resolve(), int(sys.argv[2])
    with tempfile.TemporaryDirectory(dir=file.parent) as name:
        parts = Path(name) / "parts"
        parts.mkdir()
        for number in range(copies):
            (parts / f"part-{number:05}-copy.parquet").symlink_to(file)
        target = Path(name) / "merged.parquet"
        start = time.process_time()
        rows = merge_parts(parts, parquet.read_schema(file), target, MEMORY_LIMIT)
        cpu = time.process_time() - start
    print(json.dumps({"rows": rows, "CPU s": round(cpu, 1), "peak MB": round(peak_megabytes())}))


if __name__ == "__main__":
    main()
