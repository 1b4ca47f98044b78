"""The verifier shares no code with the stages and the gate."""

import ast
from pathlib import Path

import setanon_dagster.verifier

ALLOWED = ("setanon_core.errors", "setanon_core.model.verdict", "setanon_core.ranges")


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not used"
            yield node.module


def test_verifier_imports_only_itself_and_three_modules_of_the_core():
    folder = Path(setanon_dagster.verifier.__file__).parent
    ours = {
        (path.name, module)
        for path in folder.glob("*.py")
        for module in imported_modules(path)
        if module.startswith("setanon_")
    }
    assert len(ours) > 10
    assert not [
        (name, module)
        for name, module in ours
        if module not in ALLOWED and not module.startswith("setanon_dagster.verifier.")
    ]
