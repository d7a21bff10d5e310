"""Runs tests of an official SDK against the gateway, and prints each result as a line of JSON.

Arguments: the SDK's sources, a name for the checks, a model, the words that choose tests, and
their files.
"""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

# Nothing is written beside the plugin.
sys.dont_write_bytecode = True

sources, name, model, words = sys.argv[1:5]
files = sys.argv[5:]

url = os.environ["GATEWAY_URL"]
os.environ["TEST_API_BASE_URL"] = url if name.startswith("anthropic") else url + "/v1"
os.environ["CHECK_PREFIX"] = name + ", " + model

# The tests name models that the simulated provider does not have, limits that allow no answer, and
# a key that is not a token.
tests = Path(shutil.copytree(Path(sources, "tests"), Path.cwd() / name / "tests", dirs_exist_ok=True))
for file in [tests / file for file in files]:
    text = re.sub(r'\bmodel="[\w.-]+"', f'model="{model}"', file.read_text())
    file.write_text(re.sub(r"\b(max_tokens|max_completion_tokens)=0\b", r"\1=16", text))
conftest = tests / "conftest.py"
token = os.environ["GATEWAY_TOKEN"]
conftest.write_text(re.sub(r'^api_key = ".*"$', f'api_key = "{token}"', conftest.read_text(), flags=re.MULTILINE))

os.chdir(tests.parent)
# The SDK's tests import their own package of tools.
sys.path[:0] = [str(tests.parent), str(Path(__file__).parent)]
Path("pytest.ini").write_text("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = session\n")
chosen = ["-k", words] + [f"tests/{file}" for file in files]
pytest.main(["-s", "-q", "-c", "pytest.ini", "-p", "findings", "-p", "no:cacheprovider", *chosen])
