"""The tests of azure-cosmos that its authors run against an account or Microsoft's emulator (sdktests/selection.py says
which). install.sh has put them into the folder of its argument, with the server's address in place of the emulator's."""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

from record import Record, finish
from sdktests.selection import DIFFERING, LEFT_OUT_FILES, LEFT_OUT_TESTS, SELECTED

AT_A_TIME = 3  # many wait
TEST_SECONDS_MAX, FILE_SECONDS_MAX = 180, 420
folder = os.path.join(sys.argv[1], "sdktests")
stand_ins = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sdktests")


def subject_of(file):
    """`crud` and whether the tests are those of the asynchronous client, for test_crud_async.py."""
    name = file.removeprefix("test_").removesuffix(".py")
    return name.removesuffix("_async"), name.endswith("_async")


def name_of(test):
    """The name that a test has for both clients: without its class, parameters, and the suffix of the asynchronous one."""
    return test.split("[")[0].split("::")[-1].removesuffix("_async")


def outcomes_of(file):
    """Runs the tests of a file: {name: error, or none}. Tests that skip themselves are not in it."""
    subject, _ = subject_of(file)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "sdktests.outcomes", "-p", "no:cacheprovider",
               "-p", "no:warnings", "-o", "asyncio_mode=auto", "--tb=short", f"--timeout={TEST_SECONDS_MAX}", file]
    left_out = [test for one, test in LEFT_OUT_TESTS if one == subject]
    if left_out:
        command += ["-k", " and ".join(f"not {test}" for test in left_out)]
    with tempfile.NamedTemporaryFile() as outcomes:
        environment = {**os.environ, "OCTAVO_OUTCOMES": outcomes.name,
                       "ACCOUNT_HOST": os.environ["OCTAVO_COSMOS_HTTPS_URL"] + "/",
                       "PYTHONPATH": os.pathsep.join([stand_ins, os.environ["PYTHONPATH"], folder])}
        try:
            output = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    timeout=FILE_SECONDS_MAX, check=False, text=True).stdout
        except subprocess.TimeoutExpired:
            output = f"{file} is not done in {FILE_SECONDS_MAX} s"
        found = {}
        for line in outcomes.read().decode().splitlines():
            outcome = json.loads(line)
            if outcome["outcome"] != "skipped":
                name = name_of(outcome["test"])
                found[name] = found.get(name) or outcome.get("error")
    return found or {"the file": output}


def check(record, subject, client, outcomes):
    area = f"test_{subject}"
    for name, error in outcomes.items():
        note = DIFFERING.get((subject, name)) or DIFFERING.get((subject, name, client))
        if note:
            with record.differs(area, name, note):
                assert error, "the test passes"
        else:
            with record.works(area, name):
                assert not error, error


files = sorted(file for file in os.listdir(folder) if file.startswith("test_") and file != "test_config.py")
known, chosen = {subject for subject, _ in map(subject_of, files)}, {*SELECTED, *LEFT_OUT_FILES}
# A new version of the client may have other tests.
assert known == chosen, known ^ chosen
records = {client: Record("azure-cosmos", "cosmos", f"own tests {client}") for client in ("sync", "aio")}
with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as workers:
    running = [(*subject_of(file), workers.submit(outcomes_of, file)) for file in files if subject_of(file)[0] in SELECTED]
for subject, is_async, run in running:
    client = "aio" if is_async else "sync"
    check(records[client], subject, client, run.result())
finish(*records.values())
