import { describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { ConfigError } from './env-reader.ts';
import { checkGatewayText } from './gateway-check.ts';
import { parseGatewayFile } from './gateway-file.ts';
import { changesBetween } from './written-gateway.ts';

const secret = `whsec_${Buffer.alloc(32, 'k').toString('base64')}`;
const env = { SLACK: 'https://hooks.example/services/of-slack', SECRET: secret };
const file = (...receivers: readonly string[]) => `
pools: { p: { format: responses, owned_by: o, base_url: "http://x" } }
alerts:
${receivers.map((each) => `  - ${each}`).join('\n')}
`;
const load = (text: string) => parseGatewayFile(text, 'gateway.yaml', env);

function problemsOf(...receivers: readonly string[]): readonly string[] {
  try {
    load(file(...receivers));
    return [];
  } catch (thrown) {
    return thrown instanceof ConfigError ? thrown.problems : expect.fail(String(thrown));
  }
}

const slack = `{ name: ops, format: slack, url: "\${SLACK}" }`;
const json = (more: string) => `{ name: pager, format: json, url: "https://hooks.example/x"${more} }`;

describe('receivers of warnings', () => {
  it('have a name, a format, a URL, and receive all kinds unless some are chosen', () => {
    const [one, other] = load(file(slack, json(`, secret: "\${SECRET}", kinds: [budget, pool]`))).alerts;
    expect(one).toMatchObject({ name: 'ops', format: 'slack', secret: undefined });
    expect(one?.kinds).toEqual(['tokens_per_day', 'group_tokens_per_day', 'budget', 'account', 'pool', 'people']);
    expect(one?.url.reveal()).toBe(env.SLACK);
    expect([other?.kinds, other?.secret?.reveal()]).toEqual([['budget', 'pool'], secret]);
    expect(load('pools: { p: { format: responses, owned_by: o, base_url: "http://x" } }').alerts).toEqual([]);
  });

  it.each([
    ['http://hooks.example/x', false],
    ['http://10.0.0.7/x', false],
    ['https://someone:password@hooks.example/x', false],
    ['ftp://hooks.example', false],
    ['https://hooks.example/x?y=z', true],
    ['http://127.0.0.1:8080/x', true],
    ['http://[::1]:8080/x', true],
  ])('are reached over TLS, or on this machine: %s', (url, isValid) => {
    const problems = problemsOf(`{ name: a, format: json, url: "${url}" }`);
    expect(problems).toEqual(isValid ? [] : [expect.stringMatching(/^alerts\[0\]\.url: must be a URL/)]);
    expect(problems.join()).not.toContain('hooks');
  });

  it('are refused with wrong secrets, kinds and repeated names', () => {
    const short = `whsec_${Buffer.alloc(23, 'k').toString('base64')}`;
    expect(problemsOf(json(`, secret: ${short}`), json(', secret: "plain"'), json(', kinds: [all]'))).toEqual([
      'alerts[0].secret: must be whsec_ and the base64 text of 24 to 64 random bytes',
      'alerts[1].secret: must be whsec_ and the base64 text of 24 to 64 random bytes',
      'alerts[2].kinds[0]: must be one of tokens_per_day, group_tokens_per_day, budget, account, pool, people',
    ]);
    expect(problemsOf(slack.replace(' }', `, secret: "\${SECRET}" }`))).toEqual([
      'alerts[0].secret: only receivers of format json support signatures',
    ]);
    expect(problemsOf(slack, slack)).toEqual(['alerts[1].name: alerts[0] has the same name']);
  });

  it('are shown without their URLs and secrets, and compared without them', () => {
    const written = file(
      '{ name: ops, format: slack, url: "https://hooks.example/canary" }',
      `{ name: pager, format: json, url: "https://hooks.example/canary2", secret: ${secret} }`,
      slack.replace('ops', 'other'),
    );
    const text = `${written}# - { name: old, url: https://hooks.example/canary3, secret: whsec_canary4 }\n`;
    const loaded = load(text).written;
    expect(loaded.text).not.toMatch(/canary|whsec_/);
    expect(loaded.text).toContain(`url: "\${SLACK}"`);
    expect(JSON.stringify(loaded)).not.toMatch(/canary|whsec_/);
    const changed = changesBetween(loaded, parseYaml(file(slack)));
    expect(changed).toContain(`~ alerts.ops.url: "[redacted]" → \${SLACK}`);
    expect(changed.find((line) => line.startsWith('- alerts.pager'))).not.toMatch(/canary|whsec_/);
    expect(checkGatewayText(text).references).toEqual(new Set(['SLACK']));
  });
});
