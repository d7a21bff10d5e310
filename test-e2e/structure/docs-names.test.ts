import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gatewayErrorCodes } from '@gateway/errors';
import { beforeAll, describe, expect, it } from 'vitest';
import { readSourceTree } from './source-tree.ts';
import { repositoryRoot } from './test-references.ts';

/** Files from which readers copy names. */
const pages = globSync(
  ['README.md', 'docs/**/*.md', '{libs,services}/*/README.md', 'test-e2e/conformance/README.md', 'deploy/**/*.md'],
  {
    cwd: repositoryRoot,
  },
).map((page) => ({ page, text: readFileSync(join(repositoryRoot, page), 'utf8') }));

describe('names on pages', () => {
  it('is in the code, where it is written like a setting', async () => {
    const named = namesIn(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g);
    expect(named.length).toBeGreaterThan(300);
    const ours = named.filter(({ name }) => !ofOthers.test(name) && !exceptions.has(name));
    expect(ours.filter(({ name }) => !isInCode(name)).map(placeOf)).toEqual([]);
  });

  it('is a code that clients can get, where it follows a status', () => {
    const named = namesIn(/\b[45]\d\d (?:with )?`([a-z]+(?:_[a-z]+)+)`/g);
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(({ name }) => !known.has(name)).map(placeOf)).toEqual([]);
  });

  it('is a code that clients can get, where an error is shown', () => {
    const named = namesIn(/"error": ?\{[^}]*"code": ?"(\w+)"/g);
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter(({ name }) => !known.has(name)).map(placeOf)).toEqual([]);
  });

  /** Every word of the code in the form of a setting. */
  let words: ReadonlySet<string>;
  /** `<NAME>_FILE` names a file with the value of any setting. */
  const isInCode = (name: string) => words.has(name) || words.has(name.replace(/_FILE$/, ''));
  beforeAll(async () => {
    const tree = await readSourceTree(repositoryRoot);
    const others = [
      'docker-compose.yml',
      ...globSync('.github/workflows/*.yml', { cwd: repositoryRoot }),
      ...globSync('deploy/**/*.{sh,yaml,yml,conf,env.example}', { cwd: repositoryRoot }),
    ];
    const sources = [...tree].filter(([path]) => !/\.test\.tsx?$/.test(path)).map(([, text]) => text);
    const texts = [...sources, ...others.map((file) => readFileSync(join(repositoryRoot, file), 'utf8'))];
    words = new Set(texts.flatMap((text) => text.match(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g) ?? []));
  });
});

/** Codes of the gateway, and the types and the code of the Messages endpoints. */
const known: ReadonlySet<string> = new Set([
  ...gatewayErrorCodes,
  'invalid_request_error',
  'authentication_error',
  'not_found_error',
  'request_too_large',
  'rate_limit_error',
  'api_error',
  'subscription_upstream_error',
]);

/** Variables of OpenTelemetry and of clients, as their makers document them. */
const ofOthers = /^(?:OTEL|OPENAI|ANTHROPIC|CLAUDE|CODEX|OPENCODE)_/;

/** Output and files of others, variables of tests, and names that readers choose. */
const exceptions: ReadonlySet<string> = new Set([
  'DEADLINE_EXCEEDED',
  'PERMISSION_DENIED',
  'README_EN',
  'RESOURCE_EXHAUSTED',
  'SO_REUSEPORT',
  'UPDATE_SCREENSHOTS',
  'CLIENT_SECRET',
  'OPS_WEBHOOK_URL',
  'BILLING_WEBHOOK_URL',
  'BILLING_WEBHOOK_SECRET',
  'NAME_FILE',
]);

interface Named {
  readonly page: string;
  readonly name: string;
}

function namesIn(pattern: RegExp): readonly Named[] {
  return pages.flatMap(({ page, text }) =>
    [...text.matchAll(pattern)].map(([whole, name = whole]) => ({ page, name })),
  );
}

function placeOf({ page, name }: Named): string {
  return `${page}: ${name}`;
}
