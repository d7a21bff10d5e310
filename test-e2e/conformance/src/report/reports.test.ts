import { expect, it } from 'vitest';
import { create } from 'xmlbuilder2';
import type { Check } from '../check.ts';
import { jsonReport, junitReport } from './program-reports.ts';
import { type Result, summaryOf } from './result.ts';
import { tableReport } from './table-report.ts';

const check = (name: string, more: Partial<Check> = {}): Check => ({
  name,
  level: 'formats',
  endpoints: ['chat'],
  rule: 'The last event of a stream is `data: [DONE]`, and no other event is one of these, wherever it stands.',
  source: 'https://example.org/streaming',
  run: () => Promise.resolve(),
  ...more,
});

const exchange = {
  request: { line: 'POST /v1/chat/completions', headers: { authorization: 'Bearer …' }, body: '{"model":"m"}' },
  answer: { status: 200, headers: { 'content-type': 'text/event-stream' }, body: 'data: {"a": "\u001b[31m<&"}\n\n' },
};

const results: readonly Result[] = [
  {
    check: check('spec-errors', { endpoints: [], level: 'specification' }),
    outcome: { kind: 'kept' },
    milliseconds: 1,
  },
  { check: check('chat-kept'), outcome: { kind: 'kept' }, milliseconds: 12 },
  {
    check: check('chat-stream-ends-with-done'),
    outcome: { kind: 'broken', found: 'the last event is {"a":1}', exchanges: [exchange, exchange] },
    milliseconds: 34,
  },
  {
    check: check('messages-fails-over', { endpoints: ['messages'], level: 'operations' }),
    outcome: { kind: 'skipped', why: 'the providers are not the double' },
    milliseconds: 0,
  },
];

it('the summary counts by endpoint and level', () => {
  expect(summaryOf(results)).toEqual([
    { endpoint: 'chat', level: 'formats', kept: 1, broken: 1, skipped: 0 },
    { endpoint: 'messages', level: 'operations', kept: 0, broken: 0, skipped: 1 },
    { endpoint: 'http', level: 'specification', kept: 1, broken: 0, skipped: 0 },
  ]);
});

it('the table shows broken rules with their exchanges, why checks were skipped, and the summary', () => {
  expect(tableReport(results, { width: 60 })).toBe(`chat, formats
  ✗ chat-stream-ends-with-done
      rule    The last event of a stream is \`data: [DONE]\`,
              and no other event is one of these, wherever
              it stands.
      source  https://example.org/streaming
      found   the last event is {"a":1}
      said    1 other exchanges before this one
      > POST /v1/chat/completions
      > authorization: Bearer …
      > 
      > {"model":"m"}
      < 200
      < content-type: text/event-stream
      < 
      < data: {"a": "<&"}

messages, operations
  – 1 skipped because the providers are not the double:
    messages-fails-over

endpoint     level          kept  broken  skipped
chat         formats           1       1        0
messages     operations        0       0        1
http         specification     1       0        0
all                            2       1        1
`);
});

it('the JSON has every check with its outcome', () => {
  const report: unknown = JSON.parse(jsonReport(results));
  expect(report).toMatchObject({
    summary: { length: 3 },
    checks: [
      { name: 'spec-errors', outcome: 'kept' },
      { name: 'chat-kept', level: 'formats', endpoints: ['chat'], outcome: 'kept', milliseconds: 12 },
      { outcome: 'broken', found: 'the last event is {"a":1}', source: 'https://example.org/streaming' },
      { outcome: 'skipped', why: 'the providers are not the double' },
    ],
  });
});

it('the JUnit file has a suite for each endpoint and level, and is XML whatever was answered', () => {
  const xml = junitReport(results);
  expect(xml).toContain('< data: {"a": "\ufffd[31m<&"}'.replaceAll('&', '&amp;').replaceAll('<', '&lt;'));
  expect(create(xml).end({ format: 'object' })).toMatchObject({
    testsuites: {
      '@tests': '4',
      '@failures': '1',
      '@skipped': '1',
      testsuite: [
        {
          '@name': 'chat formats',
          testcase: [
            { '@name': 'chat-kept', '@time': '0.012' },
            { '@name': 'chat-stream-ends-with-done', failure: { '@type': 'Violation' } },
          ],
        },
        { testcase: { skipped: { '@message': 'the providers are not the double' } } },
        { testcase: { '@classname': 'http.specification' } },
      ],
    },
  });
});
