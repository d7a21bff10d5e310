import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { localPath } from './local-path.ts';

/** Texts that URL parsers disagree about, in any order. */
const trick = fc.constantFrom(
  ...[
    '/',
    '//',
    '\\',
    '.',
    '..',
    '/.',
    '/..',
    '%2e',
    '%2E%2e',
    '%2f',
    '%5c',
    ':',
    '@',
    '?',
    '#',
    ';',
    ' ',
    '\t',
    '\n',
    '\r',
  ],
  ...[
    'http:',
    'https:',
    'javascript:',
    'data:',
    'evil.example',
    'console.invalid',
    'admin.example',
    '\u3000',
    '\uff0f',
  ],
);
const path = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(fc.oneof(trick, fc.string()), { maxLength: 12 }).map((parts) => parts.join('')),
  fc.array(trick, { maxLength: 12 }).map((parts) => `/${parts.join('')}`),
  fc.webUrl(),
  fc.anything(),
);

describe('where a sign-in leads', () => {
  it('is on the origin of the console, whatever was asked for', () => {
    fc.assert(
      fc.property(path, fc.constantFrom('https://admin.example', 'http://127.0.0.1:9090'), (asked, origin) => {
        const location = localPath(asked);
        expect(location).toMatch(/^\/(?!\/|\\)/);
        expect(new URL(location, `${origin}/oidc/callback`).origin).toBe(origin);
        // It is also stable when a proxy or a browser parses it again.
        expect(localPath(location)).toBe(location);
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    ['/.//console.invalid//evil.example/login', '/console.invalid//evil.example/login'],
    ['/.//evil.example', '/evil.example'],
    ['/..//evil.example', '/evil.example'],
    ['/x/..//evil.example', '/evil.example'],
    ['/%2e//evil.example', '/evil.example'],
    ['/\t/evil.example', '/'],
    ['//console.invalid/tokens', '/tokens'],
    ['/pools/responses?tab=accounts#quota', '/pools/responses?tab=accounts#quota'],
    ['/search?q=//evil.example', '/search?q=//evil.example'],
    ['', '/'],
    [undefined, '/'],
    [['/tokens'], '/'],
    [`/${'x'.repeat(2_000)}`, '/'],
  ])('is, for %j, %j', (asked, location) => {
    expect(localPath(asked)).toBe(location);
  });
});
