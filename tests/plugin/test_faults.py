"""A few of the faults that `make faults` injects, and of the lines that `make fuzz` reads."""

import pytest
from support.scripts import run_script

pytestmark = pytest.mark.slow

KILLS = """
import sys
from pathlib import Path
from faults.children import import_as_in
from faults.kills import kill_functions
from faults.release_run import config_of, run_release, write_logs

folder = Path(sys.argv[1])
logs = write_logs(folder / "logs", users=60)
import_as_in(run_release, config_of(logs[0], folder / "first"))
findings, steps = kill_functions(folder, logs, 12, seed=1)
print(steps.total())
print("\\n".join(findings))
"""


def test_after_a_kill_the_next_run_leaves_only_its_own_files(tmp_path):
    number, *findings = run_script(KILLS, tmp_path, timeout=300)
    assert int(number) == 12
    assert not any(findings), findings


FUZZ = """
import sys
from pathlib import Path
from fuzz.laws import findings_of
from fuzz.lines import random_file

outcomes = set()
for seed in range(60):
    found, outcome = findings_of(random_file(seed, 40), Path(sys.argv[1]))
    outcomes.add(outcome)
    print(*found, sep="\\n", end="")
assert outcomes == {"read", "refused"}, outcomes
"""


def test_no_fuzzed_line_is_lost_or_quoted_in_a_message(tmp_path):
    assert run_script(FUZZ, tmp_path, timeout=120) == []
