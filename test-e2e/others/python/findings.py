"""A plugin of pytest that prints each result as a line of JSON."""

import json
import os


def pytest_runtest_logreport(report):
    if report.when == "teardown" or (report.when == "setup" and report.passed):
        return
    outcome = {"passed": "kept"}.get(report.outcome, report.outcome)
    prefix = os.environ.get("CHECK_PREFIX")
    check = (prefix + ": " if prefix else "") + report.nodeid.split("::", 1)[-1]
    found = str(report.longrepr[2]) if report.skipped else str(report.longrepr or "")[-400:]
    print("\nfinding " + json.dumps({"check": check, "outcome": outcome, "found": found}), flush=True)
