import fc from 'fast-check';
import { expect, it } from 'vitest';
import { changesBetween } from './changes-between.ts';

it('lists differences by path, without equal fields and revision counters', () => {
  const before = '{"label":"ci","limits":{"requestsPerMinute":60,"tokensPerDay":"5"},"note":"","revision":"3"}';
  const after = '{"label":"ci","limits":{"requestsPerMinute":120,"strictTokens":true},"note":"more","revision":"4"}';
  expect(changesBetween(before, after)).toEqual([
    { field: 'requests per minute', was: '60', is: '120' },
    { field: 'tokens per day', was: '5', is: undefined },
    { field: 'strict tokens per day', was: undefined, is: 'true' },
    { field: 'note', was: undefined, is: 'more' },
  ]);
});

it('lists all fields of created and removed objects', () => {
  expect(changesBetween('', '{"name":"maud"}')).toEqual([{ field: 'name', was: undefined, is: 'maud' }]);
  expect(changesBetween('{"name":"maud"}', '')).toEqual([{ field: 'name', was: 'maud', is: undefined }]);
});

it('has the words and units that people know from the rest of the console', () => {
  const issued = '{"kind":"TOKEN_KIND_SERVICE","limits":{"tokensPerDay":"1000000"}}';
  expect(changesBetween('', issued)).toMatchObject([{ is: 'service' }, { is: '1\u202f000\u202f000' }]);
  expect(changesBetween('', '{"keepOldSeconds":86400}')).toMatchObject([
    { field: 'old secret valid for', is: '1\u00a0d' },
  ]);
});

it('says every field in words', () => {
  const fields = (json: string) => changesBetween('', json).map(({ field }) => field);
  expect(fields('{"times":30,"lastAt":"2026-11-23T10:00:00.000Z"}')).toEqual(['number of times', 'last time']);
  expect(fields('{"stillDead":1,"credential":{"clientId":"x"}}')).toEqual(['still dead', 'credential client id']);
});

it('shows a text that is no JSON as it is', () => {
  expect(changesBetween('', 'broken')).toEqual([{ field: '', was: undefined, is: 'broken' }]);
});

it('shows a budget as an amount and a period', () => {
  const group = '{"limits":{"budget":{"amountMicros":"1234567800","period":"BUDGET_PERIOD_MONTH"}}}';
  expect(changesBetween('', group)).toEqual([
    { field: 'budget', was: undefined, is: '1\u202f234.5678' },
    { field: 'period of the budget', was: undefined, is: 'month' },
  ]);
});

it('shows a value of a form that it does not know as it is', () => {
  const odd = '{"limits":{"tokensPerDay":"many","budget":{"period":7}},"keepOldSeconds":null,"constructor":"x"}';
  expect(changesBetween('', odd).map(({ is }) => is)).toEqual(['many', '7', 'null', 'x']);
});

it('shows any two states', () => {
  const state = fc.oneof(fc.json(), fc.string());
  fc.assert(
    fc.property(state, state, (before, after) => {
      for (const { field, was, is } of changesBetween(before, after)) {
        expect([typeof field, typeof (was ?? ''), typeof (is ?? '')]).toEqual(['string', 'string', 'string']);
      }
    }),
  );
});
