import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { ConfigError } from './env-reader.ts';
import { checkGatewayText } from './gateway-check.ts';
import { parseGatewayFile } from './gateway-file.ts';

const file = `
pools:
  responses: { format: responses, owned_by: provider_a, base_url: "https://api.example/v1" }
  messages: { format: messages, owned_by: provider_b, base_url: "https://api.example", model_patterns: ["m-*"], models: { "m-*": { thinking: budget, efforts: [low] } } }
accounts:
  - { pool: responses, name: a, credential: { bearer: "\${KEY}" }, models: ["gpt-*"], state: active, drain: false, max_concurrency: 3 }
  - { pool: responses, name: b, credential: { oauth: { token_url: "https://auth.example/token", client_id: me, client_secret: x, refresh_token: y, scopes: [z] } } }
classes:
  sterk: { name: Sterk, effort: high, candidates: [responses/gpt-5.5] }
prices: { currency: EUR, models: [{ model: "gpt-*", input: 1.25, output: 10 }] }
settings: { error_cooldown_seconds: 2, error_cooldown_max_seconds: 60 }
`;

function problemsOf(work: () => unknown): readonly string[] {
  try {
    work();
    return [];
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.problems;
    throw thrown;
  }
}

const problemsOfText = (text: string) => problemsOf(() => checkGatewayText(text));

describe('a text that somebody sent as a gateway.yaml', () => {
  it('is read with its references as they are written', () => {
    const { references, pools, accounts } = checkGatewayText(file);
    expect([...references]).toEqual(['KEY']);
    expect(pools).toEqual([
      { name: 'responses', format: 'responses' },
      { name: 'messages', format: 'messages' },
    ]);
    expect(accounts).toHaveLength(2);
  });

  it('names models where no pattern and no reference stands for them, and has its prices', () => {
    const text = file
      .replace('["gpt-*"]', `["gpt-*", gpt-5.6, "\${MODEL}"]`)
      .replace('[responses/', '[messages/a/b, responses/');
    expect(checkGatewayText(text).models).toEqual(['a/b', 'gpt-5.5', 'gpt-5.6']);
    expect(checkGatewayText(text)).toMatchObject({ hasPrices: true, prices: { currency: 'EUR' } });
    expect(checkGatewayText(file.replace(/^prices.*$/m, ''))).toMatchObject({ hasPrices: false, prices: undefined });
    expect(checkGatewayText(file.replace('EUR', `"\${CURRENCY}"`))).toMatchObject({
      hasPrices: true,
      prices: undefined,
    });
  });

  it('has no problem where a rule depends on what a reference stands for', () => {
    const text = file
      .replace('"https://api.example/v1"', `"https://\${HOST}:\${PORT}/v1"`)
      .replace('format: messages', `format: "\${FORMAT}"`)
      .replace('pool: responses, name: a', `pool: "\${POOL}", name: "\${NAME}"`)
      .replace('pool: responses, name: b', `pool: "\${POOL}", name: "\${NAME}"`)
      .replace(`bearer: "\${KEY}"`, `bearer: "two \${WORDS}"`)
      .replace('high, candidates: [responses/', `"\${EFFORT}", candidates: ["\${CANDIDATE}", responses/`);
    expect(problemsOfText(text)).toEqual([]);
    expect(checkGatewayText(text).references.size).toBe(8);
    expect(checkGatewayText(text).pools).toEqual([{ name: 'responses', format: 'responses' }]);
  });

  it('has every problem that is one whatever a reference stands for', () => {
    const text = file
      .replace('max_concurrency: 3', `max_concurrency: "\${COUNT}"`)
      .replace(`bearer: "\${KEY}"`, `bearer: "\${KEY}", api_key: "\${KEY}"`)
      .replace('{ name: Sterk', `{ colour: "\${KEY}", name: "\${not a name}"`)
      .replace('error_cooldown_seconds: 2', 'error_cooldown_seconds: 90');
    expect(problemsOfText(text)).toEqual([
      `classes.sterk.name: a reference must have the form \${NAME}, with the name of an environment variable`,
      `accounts[0].credential: must be { bearer: "\${NAME}" }, { api_key: "\${NAME}" } or { oauth: { … } }`,
      'accounts[0].max_concurrency: must be a value of type number',
      'classes.sterk.colour: this key does not exist',
      'settings.error_cooldown_max_seconds: must be at least error_cooldown_seconds, which is 90',
    ]);
    expect(
      problemsOfText(file.replace('{ token_url: "https://auth.example/token"', '{ ').replace('{ , ', '{ ')),
    ).toEqual(['accounts[1].credential.oauth.token_url: is missing']);
  });

  it('has no more problems than a person reads, and none that is longer', () => {
    const many = problemsOfText(`accounts: [${'1,'.repeat(20_000)}]`);
    expect(many).toHaveLength(101);
    expect(many.at(-1)).toMatch(/^and \d+ more$/);
    expect(problemsOfText('- ]\n'.repeat(16_000))).toHaveLength(101);
    for (const problem of problemsOfText(`${'k'.repeat(60_000)}: 1`)) expect(problem.length).toBeLessThan(600);
  });

  // A parser that takes seconds or hours on these fails by the test's time limit.
  it.each([
    ['signs of comments', '#'.repeat(65_000)],
    ['slashes in a URL', file.replace('https://api.example/v1', `https://x${'/'.repeat(60_000)}y`)],
    ['open braces', '{'.repeat(65_000)],
    ['nested keys', '? '.repeat(32_000)],
    ['nested keys that are closed', `${'{? '.repeat(250)}a${'}'.repeat(250)}`],
    ['many keys', `{${Array.from({ length: 9_000 }, (_, n) => `k${n}:`).join(',')}}`],
    ['many accounts of a pool that is not there', `pools: {}\naccounts: [${'{pool: a, name: b},'.repeat(3_000)}]`],
    ['references that do not end', `pools: "${'${'.repeat(32_000)}"`],
    ['aliases', `a: &a x\nb:\n${'- *a\n'.repeat(12_000)}`],
  ])('is refused or taken soon with %s', (_name, text) => {
    expect(Array.isArray(problemsOfText(text))).toBe(true);
  });

  it('may not have a key twice, nor one that is no plain text', () => {
    expect(problemsOfText('a: 1\nb: { c: 1, c: 2 }\na: 2')).toEqual([
      'gateway.yaml:3:1: Map keys must be unique',
      'gateway.yaml:2:12: Map keys must be unique',
    ]);
    expect(problemsOfText('{ [a]: 1 }')).toEqual(['gateway.yaml:1:3: A key must be a plain text']);
  });
});

describe('a problem of a gateway.yaml', () => {
  it('never repeats what a reference stands for, wherever it is written', () => {
    const canary = 'canary';
    const values = fc.constantFrom(
      canary,
      `9${canary}`,
      `${canary}/x`,
      `https://${canary}`,
      ` ${canary} two`,
      `-${canary}`,
    );
    const written = fc.constantFrom(`\${M}`, `x\${M}`, `\${M}/y`, `\${M}\${M}`, `https://\${M}`, `\${F}`);
    const places = placesIn(parse(file));
    const changes = fc.array(fc.tuple(fc.nat(places.length - 1), written), { minLength: 1, maxLength: 4 });
    const emptied = fc.array(fc.nat(places.length - 1), { maxLength: 2 });
    fc.assert(
      fc.property(values, changes, emptied, (value, changes, emptied) => {
        const changed = parse(file);
        for (const [place, text] of changes) setAt(changed, places[place] ?? [], text);
        for (const place of emptied) setAt(changed, places[place] ?? [], '');
        const env = { M: value, F_FILE: `/nowhere/${canary}`, KEY: 'k' };
        const problems = problemsOf(() => parseGatewayFile(stringify(changed), 'gateway.yaml', env));
        expect(problems.join('\n')).not.toContain(canary);
      }),
      { numRuns: 200 },
    );
  });

  it('of a setting that should be a number does not repeat a text', () => {
    const text = `${file.split('settings:')[0]}settings: { error_cooldown_seconds: "\${M}", error_cooldown_max_seconds: "" }`;
    const expected = ['error_cooldown_seconds', 'error_cooldown_max_seconds'].map(
      (name) => `settings.${name}: must be a value of type number`,
    );
    expect(problemsOf(() => parseGatewayFile(text, 'gateway.yaml', { M: 'canary', KEY: 'k' }))).toEqual(expected);
    expect(problemsOfText(text)).toEqual(expected);
  });
});

/** The paths of all leaf values. */
function placesIn(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([key, part]) => placesIn(part, [...path, key]));
}

function setAt(value: unknown, [first = '', ...rest]: readonly string[], text: string): void {
  if (typeof value !== 'object' || value === null) return;
  const parts = value as Record<string, unknown>;
  if (rest.length === 0) parts[first] = text;
  else setAt(parts[first], rest, text);
}
