"""Runs llm-comply against the gateway and prints each result as a line of JSON.

Arguments: format, file of its schema, model, header of the token, and words of errors that are
set apart: a check that finds nothing else is kept, and the error is a finding of its own.
"""

import dataclasses
import json
import os
import sys
from pathlib import Path

import llm_comply
from llm_comply.config import ComplianceConfig
from llm_comply.runner import TestRunner
from llm_comply.schema import SpecLoader
from llm_comply.tests import get_tests

format_name, spec_file, model, auth_header = sys.argv[1:5]


def streamed(test):
    """The same check of the same request, read from a stream: /v1/responses has no other answer."""
    is_streamable = format_name == "open-responses" and test.expected_statuses == [200]
    return dataclasses.replace(test, streaming=True) if is_streamable else test


set_apart_words = sys.argv[5:]
set_apart = {}


def report(result):
    errors = list(dict.fromkeys(result.errors))
    is_set_apart = [any(words in error for words in set_apart_words) for error in errors]
    set_apart.update({error.split(": ")[-1]: None for error, apart in zip(errors, is_set_apart) if apart})
    problems = [error for error, apart in zip(errors, is_set_apart) if not apart]
    is_skipped = result.status.value == "skipped"
    show(result.id, "skipped" if is_skipped else "failed" if problems else "kept", "; ".join(problems))


def show(check, outcome, found):
    line = {"check": f"{format_name}, {model}: {check}", "outcome": outcome, "found": found}
    print("finding " + json.dumps(line), flush=True)


config = ComplianceConfig(
    base_url=os.environ["GATEWAY_URL"] + "/v1",
    api_key=os.environ["GATEWAY_TOKEN"],
    model=model,
    auth_header=auth_header,
    use_bearer_prefix=auth_header == "Authorization",
)
spec = SpecLoader(str(Path(llm_comply.__file__).parent / "specs" / spec_file))
tests = [streamed(test) for test in get_tests(format_name)]
TestRunner(config=config, test_cases=tests, spec_loader=spec, on_result=report).run_all()

# What many checks find alike is one finding.
for error in set_apart:
    show(error, "failed", error)
