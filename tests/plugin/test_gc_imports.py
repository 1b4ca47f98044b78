import gc

import pytest

from setanon_dagster.runtime.gc_imports import imports_without_gc


@pytest.mark.parametrize("enabled", [True, False])
def test_gc_is_disabled_during_imports_and_restored_afterwards(enabled):
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with imports_without_gc():
            assert not gc.isenabled()
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()
        gc.unfreeze()
