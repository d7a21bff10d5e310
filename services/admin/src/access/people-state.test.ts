import { Metrics } from '@gateway/telemetry';
import { describe, expect, it } from 'vitest';
import { peopleNotes, peopleStateReader } from './people-state.ts';
import { PersonRules } from './person-rules.ts';

function state(
  groups: readonly (readonly [string, string])[],
  { known = ['team-a'], without = 0, hasProvider = true } = {},
) {
  const groupIds = async () => new Map(known.map((name) => [name, `id of ${name}`]));
  const rules = new PersonRules({ issuer: '', groups: new Map(groups), groupIds });
  return { hasProvider, rules, lookups: { countWithout: async () => without } };
}

describe('what operators learn about the sign-in of people', () => {
  it.each([
    ['no one', [], ['no one may sign in']],
    ['everyone', [['*', 'team-a']], ['everyone whom the provider signs in']],
    ['members of groups', [['developers', '']], []],
  ] as const)('is that %s may sign in, without a finding', async (_, groups, notes) => {
    expect(peopleNotes(state(groups))).toEqual(notes.map((text) => expect.stringContaining(text)));
    expect(await peopleStateReader(state(groups), new Metrics())()).toEqual({ missingGroups: [], withoutLookups: 0 });
  });

  it('is that people are never looked up', () => {
    const notes = peopleNotes({ ...state([['developers', '']]), lookups: undefined });
    expect(notes).toEqual([expect.stringContaining('not looked up again')]);
  });

  it('is each missing group of tokens once, and how many people have given nothing to look them up', async () => {
    const groups = [
      ['a', 'gone'],
      ['b', 'team-a'],
      ['*', 'gone'],
    ] as const;
    const known = ['team-a'];
    const metrics = new Metrics();
    const read = peopleStateReader(state(groups, { known, without: 3 }), metrics);
    expect(await read()).toEqual({ missingGroups: [{ name: 'gone', members: ['a', '*'] }], withoutLookups: 3 });
    expect(await metrics.exposition()).toContain('gateway_admin_missing_people_groups 1\n');
    known.push('gone');
    expect(await read()).toEqual({ missingGroups: [], withoutLookups: 3 });
    expect(await metrics.exposition()).toContain('gateway_admin_missing_people_groups 0\n');
  });

  it('is nothing without a provider', async () => {
    const without = state([], { hasProvider: false });
    expect([peopleNotes(without), await peopleStateReader(without, new Metrics())()]).toEqual([
      [],
      { missingGroups: [], withoutLookups: 0 },
    ]);
  });
});
