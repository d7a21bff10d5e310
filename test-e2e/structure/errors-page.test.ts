import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorTexts, rejectedCapabilities } from '@gateway/adapter-kit';
import { renderError } from '@gateway/edge-router/errors/render-error';
import { GatewayError, gatewayErrorCodes } from '@gateway/errors';
import { describe, expect, it } from 'vitest';
import { repositoryRoot } from './test-references.ts';

const page = readFileSync(join(repositoryRoot, 'docs/reference/errors.md'), 'utf8');

/**
 * The rows of its table: | 429 | [`pool_exhausted`](#pool_exhausted) | `rate_limit_error` | after
 * `retry-after` |
 */
const rows = [...page.matchAll(/^\| ([\d, ]+?) +\| \[`(\w+)`\]\(#(\w+)\) +\| `(\w+)`.*?\| (.+?) +\|$/gm)].map(
  ([, statuses = '', code = '', anchor, messagesType, retry]) => ({
    statuses: statuses.split(', ').map(Number),
    code,
    anchor,
    messagesType,
    retry,
  }),
);
const sections = new Map(page.split(/^## /m).map((text) => [text.split('\n')[0] ?? '', text]));

describe('docs/reference/errors.md', () => {
  it('has every code that a client can get, and no other', () => {
    expect(rows.map(({ code }) => code).toSorted()).toEqual([...gatewayErrorCodes].toSorted());
  });

  it.each(rows)('says when $code comes and what to do about it', ({ code, anchor }) => {
    expect(anchor).toBe(code);
    expect(sections.get(code)).toMatch(/\n\*\*When\.\*\* .{20,}\n\n\*\*Do\.\*\* .{20,}/s);
  });

  it.each(rows)('gives $code the status and the type that clients get', ({ code, statuses, messagesType }) => {
    const rendered = statuses.map((status) => {
      const details = code === 'upstream_rejected' ? { upstreamStatus: status } : {};
      const error = new GatewayError(
        gatewayErrorCodes.find((each) => each === code) ?? 'internal_error',
        'no',
        details,
      );
      const { error: inMessages } = JSON.parse(renderError(error, 'messages', 0).body);
      return { status: renderError(error, 'chat', 0).status, type: inMessages.type };
    });
    expect(rendered).toEqual(statuses.map((status) => ({ status, type: messagesType })));
  });

  it('has the words of a provider’s error, and nothing else', () => {
    const texts = sections.get("What a provider's error says") ?? '';
    const listed = [...texts.matchAll(/^\| [^|`]+ \| `([A-Z][^`]+)` +\|$/gm)].map(([, text]) => text);
    expect(listed.toSorted()).toEqual([...new Set(Object.values(errorTexts))].toSorted());
    const capabilities = [...texts.matchAll(/^\| `([a-z_:]+)` +\|/gm)].map(([, name]) => name);
    expect(capabilities).toEqual(rejectedCapabilities);
  });

  it.each(rows)('says whether to send a request again after $code', ({ statuses: [status = 0], retry }) => {
    const expected = { 429: /^after `retry-after`$/, 500: /^unless /, 503: /^with backoff$/ }[status] ?? /^no$/;
    expect(retry).toMatch(expected);
  });
});
