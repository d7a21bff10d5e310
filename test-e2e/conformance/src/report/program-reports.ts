import { create } from 'xmlbuilder2';
import { exchangeLines, grouped, type Result, summaryOf } from './result.ts';

/** All results, for programs. */
export function jsonReport(results: readonly Result[]): string {
  const checks = results.map(({ check: { name, level, endpoints, rule, source }, outcome, milliseconds }) => {
    const { kind, ...found } = outcome;
    return { name, level, endpoints, rule, source, outcome: kind, ...found, milliseconds };
  });
  return `${JSON.stringify({ summary: summaryOf(results), checks }, undefined, 2)}\n`;
}

/** As build servers read it: a suite for each endpoint and level. */
export function junitReport(results: readonly Result[]): string {
  // XML can't contain most control characters, and answers may have any.
  const document = create({ version: '1.0', encoding: 'UTF-8', invalidCharReplacement: '\ufffd' });
  const suites = document.ele('testsuites', { name: 'conformance', ...countsOf(results) });
  for (const { endpoint, level, results: ofSuite } of grouped(results)) {
    const suite = suites.ele('testsuite', { name: `${endpoint} ${level}`, ...countsOf(ofSuite) });
    for (const { check, outcome, milliseconds } of ofSuite) {
      const testCase = suite.ele('testcase', {
        classname: `${endpoint}.${level}`,
        name: check.name,
        time: (milliseconds / 1_000).toFixed(3),
      });
      if (outcome.kind === 'skipped') testCase.ele('skipped', { message: outcome.why });
      if (outcome.kind !== 'broken') continue;
      const text = [check.rule, check.source, ...outcome.exchanges.flatMap(exchangeLines)].join('\n');
      testCase.ele('failure', { type: 'Violation', message: outcome.found }).txt(text);
    }
  }
  return `${document.end({ prettyPrint: true })}\n`;
}

function countsOf(results: readonly Result[]) {
  const milliseconds = results.reduce((sum, result) => sum + result.milliseconds, 0);
  return {
    tests: results.length,
    failures: results.filter(({ outcome }) => outcome.kind === 'broken').length,
    skipped: results.filter(({ outcome }) => outcome.kind === 'skipped').length,
    time: (milliseconds / 1_000).toFixed(3),
  };
}
