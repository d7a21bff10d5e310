import { describe, expect, it } from 'vitest';
import { logFieldsInOtherCases } from './log-rules.ts';
import { madeUpTree } from './made-up-tree.ts';
import { readSourceTree, violationText } from './source-tree.ts';

const check = (text: string) =>
  logFieldsInOtherCases(madeUpTree({}, { 'services/limiter/src/a.ts': text })).map(violationText);

describe('the fields of log lines', () => {
  it.each([
    "logger.info({ request_id: requestId, err: thrown }, 'retrying')",
    "logger.warn('stopped')",
    "this.#logger.error(\n  { ...refusal, reason },\n  'refused',\n)",
  ])('are snake_case: %s', (text) => {
    expect(check(text)).toEqual([]);
  });

  it.each([
    ["logger.info({ requestId }, 'retrying')", 'requestId'],
    ["logger?.warn({ pool, tokenId: id }, 'retrying')", 'tokenId'],
    ["warn(about, { request_id: id, awayMs: 1 }, 'retrying')", 'awayMs'],
    ['const fields = { endpoint, requestId };', 'requestId'],
    ['function toLogFields(message: Logged): object {\n  return { noAccount: 1 };\n}', 'noAccount'],
  ])('are found in another case: %s', (text, field) => {
    expect(check(text)).toEqual([`services/limiter/src/a.ts: logs the field ${field}`]);
  });

  it('are beside their log line', () => {
    expect(check("logger.info(counts, 'retrying')")).toEqual([
      "services/limiter/src/a.ts: logs fields that are no object literal: counts, 'retrying')",
    ]);
  });

  it('are snake_case in this repository', async () => {
    const tree = await readSourceTree(new URL('../..', import.meta.url).pathname);
    expect(logFieldsInOtherCases(tree).map(violationText)).toEqual([]);
  });
});
