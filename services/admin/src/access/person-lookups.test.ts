import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { Browser } from '../__fixtures__/browser.ts';
import { aSignInWorld, passProvider, signIn } from '../__fixtures__/sign-in-world.ts';

const userCode = 'KDRT-PQXW';
const minuteMs = 60_000;
const settings = {
  OIDC_SCOPES: 'openid profile groups email offline_access',
  OIDC_PEOPLE_GROUPS: 'staff,developers=team-a',
  OIDC_LOOKUP_SECONDS: '1',
  PERSON_KEYS: `k1:${'a'.repeat(64)}`,
};

/** Dana of the developers has signed in from a client. */
async function aWorld(env: Readonly<Record<string, string>> = {}, changes: Readonly<Record<string, unknown>> = {}) {
  const world = await aSignInWorld(changes, { ...settings, ...env });
  world.provider.groups.set('dana', ['developers']);
  world.provider.claims.set('dana', { email: 'dana@acme.test', email_verified: true });
  world.grants.set(userCode, { surface: 'claude_code', createdAt: timestampFromMs(world.clock.nowMs()) });
  const browser = new Browser();
  const first = await browser.open(`${world.publicUrl}/device`, { form: { user_code: userCode } });
  await passProvider(browser, first, world, 'dana');
  const stored = () => world.database.selectFrom('person_grants').selectAll().execute();
  /** Lets time pass until the provider has been asked, or the person is no longer looked up. */
  const lookedUp = async () => {
    const before = world.provider.refreshes();
    world.clock.advanceMs(1_000);
    await expect.poll(async () => world.provider.refreshes() > before || (await stored()).length === 0).toBe(true);
  };
  const isSignedIn = async (signedIn: Browser) => {
    const headers = { cookie: signedIn.header(world.publicUrl) };
    return (await world.call('SessionService.GetSession', {}, headers)).status === 200;
  };
  return { ...world, stored, lookedUp, isSignedIn };
}

describe('a person who has signed in from a client', () => {
  it('has a refresh token of the provider, encrypted, which no client of the console asks for', async () => {
    const world = await aWorld();
    expect(await world.stored()).toMatchObject([
      { person_id: 'dana', key_id: 'k1', refresh_token: expect.stringMatching(/^v1\./) },
    ]);
    const scopeOf = async (path: string, options: { readonly form?: Readonly<Record<string, string>> } = {}) => {
      world.grants.set(userCode, { surface: 'claude_code' });
      const isAtProvider = (url: URL) => url.origin === world.provider.issuer;
      const { url } = await new Browser().open(`${world.publicUrl}${path}`, { ...options, until: isAtProvider });
      return url.searchParams.get('scope');
    };
    expect(await scopeOf('/device', { form: { user_code: userCode } })).toBe(
      'openid profile groups email offline_access',
    );
    expect(await scopeOf('/oidc/sign-in')).toBe('openid profile groups email');
  });

  it('is in the audit log also when what the provider gave cannot be stored', async () => {
    const world = await aWorld();
    const approvals = async () => (await world.audited()).filter(({ action }) => action === 'sign_in.approve').length;
    expect(await approvals()).toBe(1);
    await world.database.schema.dropTable('person_grants').execute();
    world.grants.set(userCode, { surface: 'claude_code', createdAt: timestampFromMs(world.clock.nowMs()) });
    const browser = new Browser();
    const page = await browser.open(`${world.publicUrl}/device`, { form: { user_code: userCode } });
    await passProvider(browser, page, world, 'dana');
    expect(await approvals()).toBe(2);
  });

  it('is looked up with each new refresh token of the provider, and stays signed in', async () => {
    const world = await aWorld();
    for (let round = 0; round < 3; round++) {
      const before = await world.stored();
      await world.lookedUp();
      await expect.poll(world.stored).not.toMatchObject([{ refresh_token: before[0]?.refresh_token }]);
    }
    expect(world.ended).toEqual([]);
  });

  it.each([
    ['the ID token', { conformIdTokenClaims: false }],
    ['the answer about the user', {}],
  ])('moves to the group of tokens of another group, which is in %s', async (_, changes) => {
    const world = await aWorld({}, changes);
    expect(world.known.get('dana')).toMatchObject({ groupId: 'group-1' });
    world.provider.groups.set('dana', ['staff']);
    await world.lookedUp();
    await expect.poll(() => world.known.get('dana')).toMatchObject({ groupId: '', email: 'dana@acme.test' });
    expect(world.ended).toEqual([]);
  });

  it.each([
    ['none of the groups that may sign in', 'no group that may sign in', { groups: ['cooks'] }],
    ['an address that is no longer verified', 'the e-mail address is not verified', { email_verified: false }],
  ])('loses sessions, tokens and the console with %s', async (_, reason, claims) => {
    const world = await aWorld();
    const browser = new Browser();
    await signIn(browser, world, 'dana');
    expect(await world.isSignedIn(browser)).toBe(true);
    world.provider.claims.set('dana', { email: 'dana@acme.test', ...claims });
    await world.lookedUp();
    await expect.poll(() => world.ended).toEqual([{ personId: 'dana', withTokens: true }]);
    await expect.poll(world.stored).toEqual([]);
    expect(await world.isSignedIn(browser)).toBe(false);
    expect(await world.audited()).toContainEqual({
      ...{ actor: '', address: '', action: 'person.lookup', subject: 'dana@acme.test', outcome: 'refused' },
      after: { reason, sessions: 1, withTokens: true },
    });
  });

  it('loses sessions and the console when the provider has removed the person', async () => {
    const world = await aWorld();
    const browser = new Browser();
    await signIn(browser, world, 'dana');
    world.provider.removed.add('dana');
    world.clock.advanceMs(1_000);
    await expect.poll(() => world.ended).toEqual([{ personId: 'dana', withTokens: false }]);
    await expect.poll(world.stored).toEqual([]);
    expect(await world.isSignedIn(browser)).toBe(false);
    expect(await world.audited()).toContainEqual(
      expect.objectContaining({ action: 'person.lookup', after: expect.objectContaining({ sessions: 1 }) }),
    );
  });

  it('stays signed in while the provider is away, and is looked up when it is back', async () => {
    const world = await aWorld();
    world.provider.isAway = true;
    world.clock.advanceMs(1_000);
    const failed = async () =>
      (await world.metrics.exposition()).includes('gateway_person_lookups_total{result="failed"} 1');
    await expect.poll(failed).toBe(true);
    expect(world.ended).toEqual([]);
    expect(await world.stored()).toHaveLength(1);
    world.provider.isAway = false;
    world.provider.groups.set('dana', ['cooks']);
    await world.lookedUp();
    await expect.poll(() => world.ended).toHaveLength(1);
  });

  it('has the role of the present groups as an operator', async () => {
    const world = await aWorld();
    world.provider.groups.set('dana', ['developers', 'sre']);
    const browser = new Browser();
    await signIn(browser, world, 'dana');
    expect(await world.operators.list()).toMatchObject([{ role: 'operator' }]);
    world.provider.groups.set('dana', ['developers', 'everyone']);
    await world.lookedUp();
    await expect.poll(() => world.operators.list()).toMatchObject([{ role: 'viewer' }]);
    expect(await world.isSignedIn(browser)).toBe(false);
    await signIn(browser, world, 'dana');
    world.provider.groups.set('dana', ['developers']);
    await world.lookedUp();
    await expect.poll(() => world.isSignedIn(browser)).toBe(false);
    expect(world.ended).toEqual([]);
  });

  it.each([
    [
      'no session',
      15 * minuteMs,
      (world: Awaited<ReturnType<typeof aWorld>>) => world.known.set('dana', { personId: 'dana', sessions: [] }),
    ],
    ['been disabled', 1_000, (world: Awaited<ReturnType<typeof aWorld>>) => world.disabledPeople.add('dana')],
  ])('is no longer looked up when the person has %s', async (_, afterMs, change) => {
    const world = await aWorld();
    change(world);
    world.clock.advanceMs(afterMs);
    await expect.poll(world.stored).toEqual([]);
    expect(world.provider.refreshes()).toBe(0);
  });

  it('is not looked up without offline_access', async () => {
    const world = await aWorld({ OIDC_SCOPES: 'openid profile groups email' });
    expect(world.decisions).toHaveLength(1);
    expect(await world.stored()).toEqual([]);
  });
});
