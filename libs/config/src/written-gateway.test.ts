import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { checkGatewayText } from './gateway-check.ts';
import { parseGatewayFile } from './gateway-file.ts';
import { changesBetween } from './written-gateway.ts';

const env = { KEY: 'sk-of-environment' };

function parse(text: string) {
  return parseGatewayFile(text, 'gateway.yaml', env);
}

const file = `# Our gateway.
pools:
  responses: { format: responses, owned_by: provider_a, base_url: "https://someone:password@api.example/v1" }
accounts:
  - { pool: responses, name: a, credential: { bearer: "\${KEY}" } }
  - { pool: responses, name: b, credential: { bearer: sk-written } } # was sk-written
#  - { pool: responses, name: c, credential: { bearer: "sk-commented" } }
  - pool: responses
    name: d
    credential: { oauth: { token_url: "https://auth.example/token", client_id: me, refresh_token: rt-written } }
classes:
  sterk: { name: Sterk, effort: high, candidates: [responses/gpt-5.5] }
`;

describe('a gateway.yaml that is shown', () => {
  it('is as it was written, with references, comments and everything but secrets', () => {
    const { text } = parse(file).written;
    expect(text).toBe(
      file
        .replace('someone:password@', '[redacted]@')
        .replace('bearer: sk-written', 'bearer: "[redacted]"')
        .replace('was sk-written', 'was [redacted]')
        .replace('"sk-commented"', '[redacted]')
        .replace('rt-written', '"[redacted]"'),
    );
  });

  it('shows no secret, whatever it is and however it is written', () => {
    const secret = fc.stringMatching(/^[\x21-\x7e]{6,40}$/).filter((text) => !text.includes('${'));
    const styles = fc.constantFrom('QUOTE_DOUBLE', 'QUOTE_SINGLE', 'BLOCK_LITERAL', 'PLAIN') as fc.Arbitrary<
      'QUOTE_DOUBLE' | 'QUOTE_SINGLE' | 'PLAIN'
    >;
    fc.assert(
      fc.property(secret, secret, styles, (bearer, refreshToken, defaultStringType) => {
        const oauth = { token_url: 'https://auth.example/token', client_id: 'me', refresh_token: refreshToken };
        const value = {
          pools: { responses: { format: 'responses', owned_by: 'provider_a', base_url: 'https://api.example' } },
          accounts: [
            { pool: 'responses', name: 'a', credential: { bearer } },
            { pool: 'responses', name: 'b', credential: { oauth } },
          ],
        };
        const withSecrets = parse(stringify(value, { defaultStringType })).written;
        const none = { ...value, accounts: [] };
        const without = parse(stringify(none)).written;
        const lines = [...changesBetween(withSecrets, none), ...changesBetween(without, value)].join('\n');
        for (const text of [withSecrets.text, lines, JSON.stringify(withSecrets)]) {
          // A secret may equal a word of the file.
          for (const each of [bearer, refreshToken].filter((text) => !stringify(value.pools).includes(text))) {
            expect(text).not.toContain(each);
          }
        }
      }),
    );
  });

  it('shows nothing of a password with signs in it that separate other parts of a URL', () => {
    const text = file.replace('someone:password@', 'someone:pass@word@');
    expect(parse(text).written.text).not.toMatch(/word/);
  });

  it('shows no secret of a comment, wherever in its line that stands', () => {
    const text = file.replace('"sk-commented"', '"sk-commented", api_key: sk-second } # bearer: sk-third {');
    expect(parse(text).written.text).not.toMatch(/sk-/);
  });

  it('shows no secret that stands elsewhere under an anchor', () => {
    const text = file
      .replace('owned_by: provider_a', 'owned_by: &key sk-anchored')
      .replace('bearer: sk-written', 'bearer: *key');
    expect(parse(text).written.text).not.toContain('sk-anchored');
  });
});

describe('what another gateway.yaml would change', () => {
  const changesOf = (before: string, after: string) =>
    changesBetween(parse(before).written, checkGatewayText(after).value);
  const changes = (from: string, to: string, before = withoutSecrets) => {
    const after = before.replace(from, to);
    expect(after).not.toBe(before);
    return changesOf(before, after);
  };
  const withoutSecrets = file
    .replace('someone:password@', '')
    .replace('sk-written }', `"\${KEY}" }`)
    .replace('rt-written', `"\${KEY}"`);

  it('is nothing when only its form is another', () => {
    expect(changes('# Our gateway.\n', '')).toEqual([]);
    expect(changes('{ name: Sterk, effort: high, c', '{ effort: high, name: Sterk, c')).toEqual([]);
  });

  it('names each value by its place, from what to what', () => {
    expect(changes('effort: high', 'effort: low')).toEqual(['~ classes.sterk.effort: high → low']);
    expect(changes('[responses/gpt-5.5]', '[responses/gpt-6]')).toEqual([
      '~ classes.sterk.candidates: ["responses/gpt-5.5"] → ["responses/gpt-6"]',
    ]);
    expect(changes('name: a,', 'name: a, max_concurrency: 3,')).toEqual([
      '+ accounts["responses/a"].max_concurrency: 3',
    ]);
    expect(changes('classes:', 'settings: { lease_ttl_seconds: 90 }\nclasses:')).toEqual([
      '+ settings.lease_ttl_seconds: 90',
    ]);
  });

  it('has a line for a part that comes or goes, and none for one that moves', () => {
    const b = `  - { pool: responses, name: b, credential: { bearer: "\${KEY}" } } # was sk-written\n`;
    expect(changes(b, '')).toEqual([
      `- accounts["responses/b"]: {"pool":"responses","name":"b","credential":{"bearer":"\${KEY}"}}`,
    ]);
    const prices = 'prices: { currency: EUR, models: [{ model: "gpt-*", input: 1.25, output: 10 }] }\nclasses:';
    expect(changes('classes:', prices)).toEqual([
      '+ prices.currency: EUR',
      '+ prices.models["gpt-*"]: {"model":"gpt-*","input":1.25,"output":10}',
    ]);
    const having = (text: string) => withoutSecrets.replace('classes:', text);
    const later = prices.replace('}] }', '}, { model: "gpt-*", from: 2026-12-01, input: 1, output: 8 }] }');
    expect(changesOf(having(prices), having(later))).toEqual([
      '+ prices.models["gpt-* from 2026-12-01"]: {"model":"gpt-*","from":"2026-12-01","input":1,"output":8}',
    ]);
    expect(changesOf(having(later), having(later.replace('output: 8', 'output: 9')))).toEqual([
      '~ prices.models["gpt-* from 2026-12-01"].output: 8 → 9',
    ]);
    expect(changes('classes:', 'prices: builtin\nclasses:')).toEqual(['+ prices: builtin']);
    expect(changes(b, '').length).toBe(1);
    const moved = withoutSecrets.replace(b, '').replace('accounts:\n', `accounts:\n${b}`);
    expect(changesOf(withoutSecrets, moved)).toEqual([]);
  });

  it('says of a secret only that it may be another, so that no guess is confirmed', () => {
    const ofSecrets = [
      '~ pools.responses.base_url: may be another secret; secrets are not compared',
      '~ accounts["responses/b"].credential.bearer: may be another secret; secrets are not compared',
      '~ accounts["responses/d"].credential.oauth.refresh_token: may be another secret; secrets are not compared',
    ];
    expect(changesOf(file, file)).toEqual(ofSecrets);
    for (const [from, to] of [
      ['bearer: sk-written', 'bearer: sk-other'],
      ['rt-written', 'rt-other'],
      ['someone:password@', 'someone:else@'],
    ] as const) {
      expect(changes(from, to, file)).toEqual(ofSecrets);
    }
    expect(changes('bearer: sk-written', `bearer: "\${KEY}"`, file)).toContain(
      `~ accounts["responses/b"].credential.bearer: "[redacted]" → \${KEY}`,
    );
    expect(changes('bearer: sk-written', 'api_key: sk-written', file)).toEqual(
      expect.arrayContaining([
        '- accounts["responses/b"].credential.bearer: "[redacted]"',
        '+ accounts["responses/b"].credential.api_key: "[redacted]"',
      ]),
    );
    expect(changes('  - { pool: responses, name: b, credential: { bearer: sk-written } }', ' ', file)).toContain(
      '- accounts["responses/b"]: {"pool":"responses","name":"b","credential":{"bearer":"[redacted]"}}',
    );
  });
});
