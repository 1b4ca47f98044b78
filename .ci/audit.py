"""Audit the packages of constraints.txt for known vulnerabilities, and the environment.

Fails if a pinned package has a known vulnerability. Packages that the advisory database does not
know, or all packages if it cannot be reached, are counted as not audited; that is not a failure,
because tests must also run without a network.
"""

import json
import subprocess
import sys
from typing import Any

AUDIT = ("pip_audit", "--requirement", "constraints.txt", "--no-deps", "--disable-pip")
QUIET = ("--progress-spinner", "off", "--format", "json")
TIMEOUT_SECONDS = 120


def main() -> int:
    """Return the exit code: 1 if there is a conflict or a known vulnerability."""
    conflicts = subprocess.run([sys.executable, "-m", "pip", "check"], check=False).returncode
    packages = audited_packages()
    audited = [package for package in packages if "vulns" in package]
    vulnerable = [package for package in audited if package["vulns"]]
    print(
        f"{len(vulnerable)} of {len(audited)} audited packages have known vulnerabilities; "
        f"{len(packages) - len(audited)} packages could not be audited."
    )
    for package in vulnerable:
        ids = ", ".join(vulnerability["id"] for vulnerability in package["vulns"])
        print(f"  {package['name']} {package['version']}: {ids}")
    return 1 if conflicts or vulnerable else 0


def audited_packages() -> list[dict[str, Any]]:
    """The result of each package; empty if the advisory database cannot be reached."""
    try:
        result = subprocess.run(
            [sys.executable, "-m", *AUDIT, *QUIET],
            capture_output=True,
            check=False,
            timeout=TIMEOUT_SECONDS,
        )
        return json.loads(result.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError):
        print("The advisory database could not be reached: no package was audited.")
        return []


if __name__ == "__main__":
    sys.exit(main())
