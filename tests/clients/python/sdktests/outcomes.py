"""A plug-in of pytest: appends the outcome of each test to the file OCTAVO_OUTCOMES, one JSON line each."""
import json
import os

import pytest

found = {}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    entry = found.setdefault(item.nodeid, {"test": item.nodeid.partition("::")[2], "outcome": "passed", "seconds": 0})
    entry["seconds"] += report.duration
    if report.skipped:
        entry["outcome"] = "skipped"
    elif report.failed:  # in its own body, or before or after it
        entry["outcome"] = "failed"
        entry["error"] = entry.get("error", "") + report.longreprtext


def pytest_sessionfinish():
    with open(os.environ["OCTAVO_OUTCOMES"], "a", encoding="utf-8") as file:
        for entry in found.values():
            file.write(json.dumps(entry) + "\n")
