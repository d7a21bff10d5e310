import { ConfigError } from '@gateway/config';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { importTokens } from './import-tokens.ts';
import { quoted } from './shell-text.ts';

const names = [
  { from: 'strong', to: 'gateway/strong' },
  { from: 'gpt-5.5', to: 'gpt-5.5' },
  { from: 'openai/*', to: '*' },
];
const nowMs = Date.parse('2026-11-27T12:00:00Z');

function imported(keys: readonly unknown[], teams: readonly unknown[] = []) {
  const file = (name: string, value: unknown) => ({ name, text: JSON.stringify(value) });
  const result = importTokens({ keys: file('keys.json', { keys }), teams: file('teams.json', teams) }, names, nowMs);
  return { ...result, commands: result.script.split('\n').filter((line) => line.startsWith('gatewayctl')) };
}

describe('the import of keys and teams', () => {
  it('creates groups from teams, and issues tokens with the limits of keys', () => {
    const team = {
      team_id: 't-1',
      team_alias: "Anna's team",
      rpm_limit: 600,
      max_budget: 250.5,
      budget_duration: '30d',
    };
    const { commands, left, notes, counts } = imported(
      [
        { token: 'hash-1', key_alias: 'ci', team_id: 't-1', rpm_limit: 60, models: ['strong', 'gpt-5.5'], spend: 3 },
        { token: 'hash-2', key_alias: 'anna', max_parallel_requests: 4, expires: '2027-01-31T00:00:00+00:00' },
        { token: 'hash-3', key_name: 'sk-...abc', max_budget: 5, budget_duration: '24h', models: ['all-proxy-models'] },
      ],
      [{ ...team, models: ['strong'], members_with_roles: [{ role: 'admin', user_id: 'u' }] }],
    );
    expect(commands).toEqual([
      `gatewayctl group create 'Anna'\\''s team' --rpm 600 --budget 250.5/month --models gateway/strong`,
      `gatewayctl token issue --label ci --rpm 60 --models gateway/strong,gpt-5.5 --group 'Anna'\\''s team'`,
      'gatewayctl token issue --label anna --concurrent 4 --expires 2027-01-31T00:00:00.000Z',
      'gatewayctl group create sk-...abc --budget 5/day',
      'gatewayctl token issue --label sk-...abc --group sk-...abc',
    ]);
    expect(counts).toEqual({ keys: 3, issued: 3, teams: 1, groups: 1 });
    expect(left.map(({ place }) => place)).toEqual(['teams.json: teams[0].members_with_roles']);
    expect(notes.map(({ place }) => place)).toEqual([
      'teams.json: teams[0].budget_duration',
      'keys.json: keys[2].budget_duration',
    ]);
  });

  it.each([
    ['is blocked', { blocked: true }],
    ['has expired', { expires: '2026-11-27T11:59:59' }],
    ['has an expiry that is no time', { expires: 'soon' }],
    ['belongs to an unknown team', { team_id: 'gone' }],
    ['may use only models that are not taken', { models: ['gemini-pro'] }],
    ['may use all models of one provider', { models: ['openai/*'] }],
    ['has a name of two lines', { key_alias: 'a\nrm -rf /' }],
    ['has a name that looks like a flag', { key_alias: '--help' }],
    ['has no name', { key_alias: null }],
  ])('issues no token for a key that %s, and says so', (_what, details) => {
    const { commands, left, counts } = imported([{ token: 'hash', key_alias: 'ci', ...details }]);
    expect(commands).toEqual([]);
    expect(counts.issued).toBe(0);
    expect(left.map(({ place }) => place)).toContain('keys.json: keys[0]');
  });

  it('leaves limits that the gateway does not have', () => {
    const { commands, left } = imported([
      { key_alias: 'a', tpm_limit: 1_000, aliases: { a: 'b' } },
      { key_alias: 'a' },
    ]);
    expect(commands).toEqual(['gatewayctl token issue --label a']);
    expect(left.map(({ place }) => place)).toEqual([
      'keys.json: keys[0].tpm_limit',
      'keys.json: keys[0].aliases',
      'keys.json: keys[1]',
    ]);
  });

  it.each([
    [{ rpm_limit: 'many' }, 'rpm_limit'],
    [{ rpm_limit: -1 }, 'rpm_limit'],
    [{ rpm_limit: 1.5 }, 'rpm_limit'],
    [{ rpm_limit: [60] }, 'rpm_limit'],
    [{ rpm_limit: 2 ** 32 }, 'rpm_limit'],
    [{ max_parallel_requests: true }, 'max_parallel_requests'],
    [{ max_budget: 'five', budget_duration: '30d' }, 'max_budget'],
    [{ max_budget: 5, budget_duration: '12h' }, 'max_budget'],
    [{ max_budget: 5 }, 'max_budget'],
    [{ max_budget: -1, budget_duration: '30d' }, 'max_budget'],
    [{ blocked: 'yes' }, ''],
    [{ expires: 'soon' }, ''],
  ])('issues no token with more rights than the key %j', (fields, member) => {
    const { commands, left } = imported([{ key_alias: 'a', ...fields }]);
    expect(commands).toEqual([]);
    expect(left.map(({ place }) => place)).toContain(`keys.json: keys[0]${member === '' ? '' : `.${member}`}`);
  });

  it('takes null for no limit', () => {
    const none = { rpm_limit: null, max_parallel_requests: null, max_budget: null, blocked: null };
    expect(imported([{ key_alias: 'a', ...none }]).commands).toEqual(['gatewayctl token issue --label a']);
  });

  it('names the place of a problem in a file that is no export', () => {
    const read = (text: string) => importTokens({ keys: { name: 'keys.json', text } }, names, nowMs);
    expect(() => read('{ "keys": [')).toThrow(/keys\.json:1:\d+/);
    expect(() => read('{ "keys": 3 }')).toThrow(ConfigError);
  });
});

it('a quoted word is one word of a shell, whatever it says', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const word = quoted(text);
      if (word === text) {
        expect(text).toMatch(/^[A-Za-z0-9_./:@%+,][A-Za-z0-9_./:@%+,-]*$/);
        return;
      }
      // Between single quotes, a shell takes everything as it is.
      expect(word).toMatch(/^'[\s\S]*'$/);
      const parts = word.slice(1, -1).split(`'\\''`);
      expect(parts.join("'")).toBe(text);
      expect(parts.join('')).not.toContain("'");
    }),
  );
});
