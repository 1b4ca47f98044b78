"""The command `verify`: verdicts, exit codes, and the packages that it requires."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from support import tampering
from support.signing import own_key, write_keys
from support.terminal import call, has_no_data

ROOT = Path(__file__).parents[2]
HEAVY = (
    "cryptography",
    "dagster",
    "great_expectations",
    "jinja2",
    "matplotlib",
    "pandas",
    "pyarrow",
)
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
    """Folder with the file of a release of two sets, each shared by five users, and its ledger."""
    queries = ["glimmerwick thornbury", "quillfeather ambershot"]
    ids = [f"{n:032x}" for n in range(10)]
    threads = {"thread_id": ids, "position": [0] * 10, "query": [queries[n % 2] for n in range(10)]}
    ledger = {"thread_id": ids, "thread": list(range(10)),
              "user": [f"kestrel{n // 2}" for n in range(10)]}  # fmt: skip
    write(threads, tmp_path / "threads.parquet")
    write(ledger, tmp_path / "ledger.parquet")
    return tmp_path


def write(columns, path):
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    parquet.write_table(table, path, store_schema=False)


@pytest.fixture
def folders(tmp_path):
    """The public and the private folder of a complete release."""
    verdict = tampering.verdict_of_good(tmp_path / "good", "queries")
    return tampering.write_release(tmp_path / "r", tampering.good_release("queries"), verdict)


def run_without(blocked, *arguments):
    """Run the setanon script in a process that cannot import these packages."""
    script = RUN_WITHOUT.format(blocked=set(blocked), arguments=[str(each) for each in arguments])
    return subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_file_is_verified_without_a_ledger_and_says_what_was_not_checked(release):
    path = release / "threads.parquet"
    result = call("verify", path, "--k", 5)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "groups       2, the smallest of 5 threads" in result.stdout
    for unchecked in ("users: without the ledger", "owners: ", "certificate and digest: "):
        assert f"not checked  {unchecked}" in result.stdout
    result = call("verify", path, "--k", 6)
    assert result.exit_code == 1
    assert "violations   10 threads in 2 groups and 2 lists" in result.stdout
    assert "at least k = 6 users must share every list of queries; 2 lists" in result.stderr
    result = call("verify", path)
    assert result.exit_code == 2
    assert "--k must be given for a single file" in result.stderr


def test_users_are_counted_with_a_ledger(release):
    result = call(
        "verify", release / "threads.parquet", "--k", 5, "--ledger", release / "ledger.parquet"
    )
    assert (result.exit_code, result.stderr) == (0, "")
    assert "groups       2, the smallest of 5 users" in result.stdout
    assert "not checked  users" not in result.stdout


def test_edited_file_is_accepted_on_request_with_a_warning(release):
    path = release / "threads.parquet"
    table = parquet.read_table(path).to_pydict()
    table["query"][0] = "thornbury glimmerwick"
    write(table, path)
    refused = call("verify", path, "--k", 5)
    assert refused.exit_code == 1
    assert "2 lists of queries have fewer users, with 5 threads; a file" in refused.stderr
    assert "is verified with --format edited." in refused.stderr
    result = call("verify", path, "--k", 5, "--format", "edited")
    assert result.exit_code == 0
    assert "50.0% of the threads have a list of queries that fewer than 5" in result.stderr
    assert "10.0% one that only one thread has" in result.stderr
    assert call("verify", path, "--k", 5, "--format", "sets").exit_code == 1


def test_folder_is_verified_with_and_without_its_private_folder(folders):
    folder, private = folders
    result = call("verify", folder)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "is a release that is k-anonymous for k = 3" in result.stdout
    assert "not checked  users: without the ledger" in result.stdout
    result = call("verify", folder, "--private", private)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "not checked  users" not in result.stdout
    assert call("verify", folder, "--k", 4).exit_code == 1
    assert call("verify", folder, "--format", "edited").exit_code == 2


def test_folder_with_a_ledger_is_refused(folders):
    folder, private = folders
    (folder / "ledger.parquet").write_bytes((private / "ledger.parquet").read_bytes())
    result = call("verify", folder)
    assert result.exit_code == 1
    assert "nothing else; 1 are foreign files" in result.stderr


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
    write(change(parquet.read_table(path)), path)
    result = call("verify", path, "--k", 3, "--ledger", release / "ledger.parquet")
    assert result.exit_code == 1
    assert failure in result.stderr


def test_empty_file_is_refused(release):
    path = release / "threads.parquet"
    write(parquet.read_table(path)[:0], path)
    result = call("verify", path, "--k", 3)
    assert result.exit_code == 1
    assert "must have at least one thread" in result.stderr


def test_folder_without_a_release_exits_2_and_names_the_missing_file(tmp_path):
    result = call("verify", tmp_path, "--k", 3)
    assert result.exit_code == 2
    assert (
        "must be the folder of a release, or of the releases of a name; it has no" in result.stderr
    )


def test_file_that_is_no_parquet_file_is_called_no_release(tmp_path):
    (tmp_path / "log.csv").write_text("user,time,query\n")
    result = call("verify", tmp_path / "log.csv", "--k", 3)
    assert result.exit_code == 1
    assert "log.csv is not a release, since it is not a Parquet file" in result.stderr


def test_verify_runs_without_dagster_pyarrow_and_pandas(folders):
    folder, private = folders
    result = run_without(
        [*HEAVY, "scipy.optimize", "jsonschema"], "verify", folder, "--private", private
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert "is a release that is k-anonymous for k = 3" in result.stdout


def test_signature_needs_the_package_that_verifies_it_with_a_key_only(folders, tmp_path):
    folder, _ = folders
    (folder / "certificate.json.sig").write_bytes(bytes(64))
    result = run_without(HEAVY, "verify", folder)
    assert (result.returncode, result.stderr) == (0, "")
    result = run_without(HEAVY, "verify", folder, "--key", write_keys(tmp_path)[1])
    assert (result.returncode, result.stdout) == (1, "")
    assert "signatures require the package cryptography" in result.stderr
    assert "pip install 'setanon[sign]'" in result.stderr


def test_key_needs_nothing_else(folders, tmp_path):
    folder, _ = folders
    certificate = (folder / "certificate.json").read_bytes()
    (folder / "certificate.json.sig").write_bytes(own_key().sign(certificate))
    blocked = [each for each in HEAVY if each != "cryptography"]
    result = run_without(blocked, "verify", folder, "--key", write_keys(tmp_path)[1])
    assert (result.returncode, result.stderr) == (0, "")


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
