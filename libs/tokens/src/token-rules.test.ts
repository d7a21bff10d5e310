import { describe, expect, it } from 'vitest';
import { detailProblems, groupProblems } from './token-rules.ts';

const nowMs = Date.parse('2026-11-20T10:00:00.000Z');
const problemsOf = (details: Parameters<typeof detailProblems>[0]) => detailProblems(details, nowMs);

describe('the rules of tokens', () => {
  it('take a label of 1 to 100 characters, whatever their size in bytes and whatever spaces are around it', () => {
    const long = ['x'.repeat(100), '🦊'.repeat(100), ` ${'x'.repeat(100)} `];
    for (const label of ['a', 'CI – nachtelijk', '  nightly build ', ...long])
      expect(problemsOf({ label })).toEqual({});
  });

  it.each([
    '',
    '   ',
    'x'.repeat(101),
    '🦊'.repeat(101),
    'a\nb',
    'a\n',
    'a\tb',
    'a\u0000b',
    'a\u0085b',
    'a\u200bb',
    'a\u202eb',
    '\ufeffa',
    'a\u2028b',
    'a\u2029b',
    'a\u00adb',
    'a\ud800',
  ])('refuse the label %j', (label) => {
    expect(problemsOf({ label })).toEqual({ label: expect.stringMatching(/^must /) });
  });

  it('take no, one or both limits on a service token, 0 included', () => {
    for (const limits of [
      {},
      { requestsPerMinute: 0 },
      { tokensPerDay: 5 },
      { requestsPerMinute: 1, tokensPerDay: 0 },
    ]) {
      expect(problemsOf({ kind: 'service', limits })).toEqual({});
    }
  });

  it('refuse limits on a personal token, and limits that are no counts', () => {
    expect(Object.keys(problemsOf({ kind: 'personal', limits: { requestsPerMinute: 1 } }))).toEqual(['limits']);
    expect(Object.keys(problemsOf({ kind: 'personal', limits: { tokensPerDay: 0 } }))).toEqual(['limits']);
    const bad = { requestsPerMinute: 2 ** 32, tokensPerDay: 2 ** 60 };
    const fields = ['limits.requestsPerMinute', 'limits.tokensPerDay'];
    expect(Object.keys(problemsOf({ kind: 'service', limits: bad }))).toEqual(fields);
    expect(Object.keys(problemsOf({ limits: { tokensPerDay: -1 } }))).toEqual(['limits.tokensPerDay']);
    expect(problemsOf({ kind: 'personal', limits: {} })).toEqual({});
  });

  it('take strict tokens only with a limit of tokens per day', () => {
    for (const tokensPerDay of [0, 1_000]) {
      expect(problemsOf({ limits: { tokensPerDay, strictTokens: true } })).toEqual({});
      expect(problemsOf({ limits: { tokensPerDay, strictTokens: false } })).toEqual({});
    }
    const refused = { 'limits.strictTokens': 'needs a limit of tokens per day.' };
    expect(problemsOf({ limits: { requestsPerMinute: 60, strictTokens: true } })).toEqual(refused);
    expect(groupProblems({ limits: { strictTokens: true } })).toEqual(refused);
    expect(problemsOf({ kind: 'personal', limits: { strictTokens: false } })).toEqual({});
  });

  it('take a note of at most 1000 characters on several lines, and no other control characters', () => {
    for (const note of ['', 'for the nightly build\nask Ada\tfirst', '🦊'.repeat(1_000)]) {
      expect(problemsOf({ note })).toEqual({});
    }
    for (const note of ['x'.repeat(1_001), 'a\u0000', 'a\u001b[31m', 'a\ud800']) {
      expect(Object.keys(problemsOf({ note }))).toEqual(['note']);
    }
  });

  it('take an end that is to come, by at least a millisecond', () => {
    expect(problemsOf({ expiresAtMs: nowMs + 1 })).toEqual({});
    for (const expiresAtMs of [nowMs, nowMs - 1, Number.NaN, 1e17]) {
      expect(Object.keys(problemsOf({ expiresAtMs }))).toEqual(['expiresAtMs']);
    }
  });

  it('name everything that is wrong at once', () => {
    const problems = problemsOf({ label: '', note: '\u0000', limits: { tokensPerDay: -1 }, expiresAtMs: 0 });
    expect(Object.keys(problems).toSorted()).toEqual(['expiresAtMs', 'label', 'limits.tokensPerDay', 'note']);
  });
});
