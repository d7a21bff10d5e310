import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { type AttemptFailure, closerRejections, concerns, consequences, type StatusRule } from '@gateway/adapter-kit';
import { errorCodes } from '@gateway/messages-adapter/format/error-codes';
import * as messages from '@gateway/messages-adapter/format/map-upstream-error';
import { sampleSettings as settings } from '@gateway/pool-broker/__fixtures__/sample-gateway';
import { toAttempt } from '@gateway/pool-broker/accounts/attempt';
import { healthy } from '@gateway/pool-broker/health/account-health';
import { applyReport } from '@gateway/pool-broker/health/apply-report';
import { applyToPool, noIncidents } from '@gateway/pool-broker/health/pool-health';
import { AttemptSchema } from '@gateway/proto/pool/v1/account_pb.js';
import { meanings as responsesCodes } from '@gateway/responses-adapter/format/error-codes';
import * as responses from '@gateway/responses-adapter/format/map-upstream-error';
import { describe, expect, it } from 'vitest';
import { repositoryRoot } from './test-references.ts';

const page = readFileSync(join(repositoryRoot, 'docs/reference/provider-errors.md'), 'utf8');
const sections = new Map(page.split(/^## /m).map((text) => [text.split('\n')[0] ?? '', text]));

/** The rows of the table in a section, without its head. */
function rowsIn(section: string): readonly (readonly string[])[] {
  const lines = (sections.get(section) ?? '').split('\n').filter((line) => line.startsWith('| '));
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .map((cell) => cell.trim())
      .slice(1, -1),
  );
}

/** The text of code spans; "closer" are the meanings that describe the problem of a request. */
function namesIn(cell = ''): readonly string[] {
  const names = cell.matchAll(/`([^`]+)`|_(closer)_/g);
  return names.toArray().flatMap(([, name = '', closer]) => (closer === undefined ? [name] : closerRejections));
}

const pools = { Responses: responses, Messages: messages } as const;
const codesOf = { Responses: responsesCodes, Messages: messages.meanings } as const;
type Pool = keyof typeof pools;
const poolNames = ['Responses', 'Messages'] as const satisfies readonly Pool[];

const nowMs = 1_795_132_800_000;

/**
 * An adapter's result for an answer with an error. If it is no error, the body has no words of the
 * provider.
 */
function failureOf(pool: Pool, status: number, error?: SentError): AttemptFailure {
  const member =
    pool === 'Responses' ? { code: error?.code, message: error?.text } : { type: error?.code, message: error?.text };
  const body = Buffer.from(error === undefined ? '' : JSON.stringify({ type: 'error', error: member }));
  return pools[pool].mapUpstreamError({ status, headers: {}, body, nowMs });
}

describe('docs/reference/provider-errors.md', () => {
  it('has every meaning with the affected party', () => {
    const documented = rowsIn('Meanings').map(([meaning, concern]) => [namesIn(meaning)[0], concern]);
    expect(documented).toEqual(Object.entries(consequences).map(([meaning, { concern }]) => [meaning, concern]));
    for (const text of Object.values(concerns)) expect(page).toContain(`| ${text} `);
  });

  it.each(poolNames)('has every status of the %s pool with its possible meanings', (pool) => {
    const { byStatus, otherClientError, otherServerError } = pools[pool].statusRules;
    const rules = new Map<string, StatusRule>([
      ...byStatus.entries().map(([status, rule]) => [String(status), rule] as const),
      ['other 4xx', otherClientError],
      ['other 5xx', otherServerError],
    ]);
    const documented = rowsIn('Statuses').map(([status = '', ...cells]) => [
      status,
      namesIn(cells[poolNames.indexOf(pool)]),
    ]);
    expect(documented.map(([status]) => status).toSorted()).toEqual([...rules.keys()].toSorted());
    for (const [status, [meaning, ...others]] of documented as [string, string[]][]) {
      const [expected, ...orByError] = rules.get(status) ?? expect.fail(status);
      expect([status, meaning, new Set(others)]).toEqual([status, expected, new Set(orByError)]);
    }
  });

  it.each(poolNames)('has every code of the %s pool with its meaning', (pool) => {
    const documented = rowsIn('Codes').flatMap(([meaning, ...cells]) =>
      namesIn(cells[poolNames.indexOf(pool)]).map((code) => [code, namesIn(meaning)[0]]),
    );
    expect(documented.toSorted()).toEqual([...codesOf[pool]].toSorted());
  });

  it('has every error code of a Messages provider with its meaning', () => {
    const documented = rowsIn('Error codes').flatMap(([meaning, codes]) =>
      namesIn(codes).map((code) => [code, namesIn(meaning)[0]]),
    );
    expect(documented.toSorted()).toEqual([...errorCodes].toSorted());
  });

  it.each(rowsIn('Texts'))('has the meaning of an error of the %s pool with %s and the text %s', (...row) => {
    const [poolName, status = '', quoted = '', meaning] = row;
    const pool = poolName === 'Messages' ? 'Messages' : 'Responses';
    const text = quoted.slice(1, -1);
    expect(failureOf(pool, Number(status), { code: codeOf[pool][status], text }).meaning).toBe(namesIn(meaning)[0]);
    // Later lines may repeat the request's own words.
    expect(failureOf(pool, 400, { text: `input[0]: "${text}"` }).meaning).toBe('rejected');
  });
});

/** The members beside the text of such an answer. */
const codeOf: Readonly<Record<Pool, Readonly<Record<string, string>>>> = {
  Responses: { 429: 'rate_limit_exceeded' },
  Messages: { 400: 'invalid_request_error', 403: 'permission_error', 404: 'not_found_error', 429: 'rate_limit_error' },
};

const statuses = Array.from({ length: 200 }, (_, at) => 400 + at);
const codes = [...new Set([...responsesCodes.keys(), ...messages.meanings.keys()])];
interface SentError {
  readonly code?: string | undefined;
  readonly text?: string;
}

const errors: readonly (SentError | undefined)[] = [
  undefined,
  {},
  { text: 'words' },
  { code: 'new_code' },
  ...codes.flatMap((code) => [{ code }, { code, text: 'words' }]),
];

describe.each(poolNames)('whatever error the %s pool answers with', (pool) => {
  const answers = statuses.flatMap((status) =>
    errors.map((error) => ({ status, error, failure: failureOf(pool, status, error) })),
  );

  it('one that concerns the request counts against no account and pauses no pool', () => {
    const ofRequest = answers.filter(({ failure }) => concernOf(failure) === 'request');
    expect(ofRequest.length).toBeGreaterThan(1_000);
    expect(ofRequest.filter(({ failure }) => counts(failure))).toEqual([]);
  });

  it('one with 4xx concerns the request, the model or the account, unless it does not come from the provider’s API or the provider waited in vain', () => {
    const ofProvider = answers.filter(({ status, failure }) => status < 500 && concernOf(failure) === 'provider');
    const kinds = ofProvider.map(({ status, failure }) => `${status} ${failure.meaning}`);
    const documented = ['404 network', '407 network', '408 timeout', '429 overloaded'];
    if (pool === 'Responses') documented.push('403 network');
    expect(new Set(kinds)).toEqual(new Set(documented));
    const with404 = ofProvider.filter(({ status }) => status === 404);
    expect(new Set(with404.map(({ error }) => error?.code))).toEqual(
      new Set(pool === 'Responses' ? [undefined, 'unsupported_country_region_territory'] : [undefined]),
    );
  });
});

function concernOf({ meaning }: AttemptFailure) {
  return consequences[meaning ?? expect.fail('every failure has a meaning')].concern;
}

/**
 * Whether the broker treats such a failure as one of the account or of its pool, at any number of
 * them.
 */
function counts({ result, feature = '', upstreamStatus, retryAtMs }: AttemptFailure): boolean {
  const retryAfterMs = retryAtMs === undefined ? undefined : retryAtMs - nowMs;
  const message = create(AttemptSchema, {
    lease: { leaseId: 'l', accountId: 'a', pool: 'p', model: 'm' },
    report: { result, feature, upstreamStatus, retryAfterMs },
  });
  const attempt = toAttempt(message, nowMs) ?? expect.fail('it has a lease');
  const ended = { ...attempt, leasedAtMs: nowMs, credentialId: '', nowMs, accounts: 1, oldestUnderWayMs: undefined };
  const rules = { settings, random: () => 0 };
  return applyReport(healthy, ended, rules) !== healthy || applyToPool(noIncidents, ended, rules) !== noIncidents;
}
