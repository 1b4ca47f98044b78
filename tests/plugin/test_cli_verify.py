"""The command `verify`: verdicts, exit codes, and the packages that it requires."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.terminal import call, has_no_data

ROOT = Path(__file__).parents[2]
HEAVY = ("dagster", "great_expectations", "jinja2", "matplotlib", "pandas", "pyarrow")
"""Packages that are not part of the extra `verify`."""

RUN_WITHOUT = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if {blocked!r}.intersection((name, name.partition(".")[0])):
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Blocker())
sys.argv = ["setanon", *{arguments!r}]
from setanon_dagster.cli.__main__ import main
main()
"""


@pytest.fixture
def release(tmp_path):
    """Folder with a release of two sets, each shared by five users, and its ledger."""
    queries = ["glimmerwick thornbury", "quillfeather ambershot"]
    ids = [f"{n:032x}" for n in range(10)]
    threads = {"thread_id": ids, "position": [0] * 10, "query": [queries[n % 2] for n in range(10)]}
    ledger = {"thread_id": ids, "thread": list(range(10)),
              "user": [f"kestrel{n // 2}" for n in range(10)]}  # fmt: skip
    parquet.write_table(pa.table(threads), tmp_path / "threads.parquet")
    parquet.write_table(pa.table(ledger), tmp_path / "ledger.parquet")
    return tmp_path


def run_without(blocked, *arguments):
    """Run the setanon script in a process that cannot import these packages."""
    script = RUN_WITHOUT.format(blocked=set(blocked), arguments=[str(each) for each in arguments])
    return subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("file", ["", "threads.parquet"])
def test_folder_or_file_is_verified_without_a_ledger(release, file):
    result = call("verify", release / file, "--k", 5)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "groups       2, the smallest of 5 threads" in result.stdout
    result = call("verify", release / file, "--k", 6)
    assert result.exit_code == 1
    assert "violations   10 threads in 2 groups" in result.stdout
    assert "at least k = 6 users must share every set; 2 sets have fewer" in result.stderr


def test_users_are_counted_with_a_ledger(release):
    result = call("verify", release, "--k", 5, "--ledger", release / "ledger.parquet")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "groups       2, the smallest of 5 users" in result.stdout


@pytest.mark.parametrize(
    ("change", "failure"),
    [
        (lambda table: table.slice(1), "published threads only; 1 entries are not"),
        (lambda table: table.append_column("user", table["query"]), "columns must be"),
        (lambda table: table.slice(0, 0), "the ledger must have published threads only"),
        (lambda table: pa.concat_tables([table, table]), "rows must ascend"),
    ],
    ids=["missing thread", "user column", "no threads", "repeated rows"],
)
def test_changed_file_is_refused(release, change, failure):
    path = release / "threads.parquet"
    parquet.write_table(change(parquet.read_table(path)), path)
    result = call("verify", path, "--k", 3, "--ledger", release / "ledger.parquet")
    assert result.exit_code == 1
    assert failure in result.stderr


def test_empty_file_is_refused(release):
    path = release / "threads.parquet"
    parquet.write_table(parquet.read_table(path)[:0], path)
    result = call("verify", path, "--k", 3)
    assert result.exit_code == 1
    assert "must have at least one thread" in result.stderr


def test_folder_without_a_release_exits_2_and_names_the_missing_file(tmp_path):
    result = call("verify", tmp_path, "--k", 3)
    assert result.exit_code == 2
    assert "must be the folder of a release; it has no threads.parquet" in result.stderr


def test_verify_runs_without_dagster_pyarrow_and_pandas(release):
    arguments = ("verify", release, "--k", 5, "--ledger", release / "ledger.parquet")
    result = run_without([*HEAVY, "scipy.optimize"], *arguments)
    assert (result.returncode, result.stderr) == (0, "")
    assert "is a release that is k-anonymous for k = 5" in result.stdout


def test_other_commands_name_the_missing_package_and_the_extra(release):
    source = release / "log.tsv"
    source.write_text("kestrel1\t2006-03-01\tglimmerwick\n")
    result = run_without(HEAVY, "sweep", source, "--k", 2)
    assert result.returncode == 1
    assert "setanon sweep requires pyarrow, which is not installed" in result.stderr
    assert "pip install 'setanon[dagster]'" in result.stderr
    assert "Traceback" not in result.stderr
    assert has_no_data(result.stdout + result.stderr)


@pytest.mark.parametrize("missing", ["click", "rich", "duckdb"])
def test_core_only_install_exits_1_with_the_extra_to_install(missing):
    result = run_without([missing], "--help")
    assert (result.returncode, result.stdout) == (1, "")
    assert f"requires {missing}, which is not installed" in result.stderr
    assert "pip install 'setanon[dagster]'" in result.stderr
    assert "'setanon[verify]'" in result.stderr
    assert "Traceback" not in result.stderr


def test_help_of_release_imports_nothing_slow():
    result = run_without([*HEAVY, "scipy.optimize"], "release", "--help")
    assert (result.returncode, result.stderr) == (0, ""), "import it where it is used"
