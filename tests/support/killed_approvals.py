"""Approve a release that waits, in copies of its output folder, and exit at each n-th change."""

from support.scripts import run_script

SCRIPT = """
import shutil, sys
from pathlib import Path
from support.killed_calls import count_changes, exit_at_change, exit_code_of
from support.signing import signer
from setanon_dagster.gate.approval import decide
from setanon_dagster.gate.decisions import Decision

count_changes()
root, step = Path(sys.argv[1]), int(sys.argv[2])
for n in range(1, 200, step):
    folder = root / "outs" / str(n)
    shutil.copytree(root / "out", folder, symlinks=True)
    [waiting] = folder.glob("private/*/waiting")

    def approve_until_killed():
        exit_at_change(n)
        decide(waiting.parent, Decision(by="Ada", overrule=True), signing_key=signer())

    code = exit_code_of(approve_until_killed)
    print(n, code, flush=True)
    if code == 0:
        break
"""


def killed_approvals(root, step):
    """Approve what waits in `root/out`; return the exit code by the number of the last change.

    The copies are in `root/outs`; the last one is complete.
    """
    return dict(map(int, line.split()) for line in run_script(SCRIPT, root, step))
