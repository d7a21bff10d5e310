import { describe, expect, it } from 'vitest';
import { Browser } from '../__fixtures__/browser.ts';
import { aSignInWorld as aWorld, signIn } from '../__fixtures__/sign-in-world.ts';

describe.each([
  ['the ID token', { conformIdTokenClaims: false }],
  ['the answer about the user', {}],
])('signing in by OpenID Connect, with groups in %s', (_, changes) => {
  it('makes an operator with the highest role of the groups', async () => {
    const world = await aWorld(changes);
    world.provider.groups.set('mona', ['cooks', 'everyone', 'sre']);
    const browser = new Browser();
    const { url } = await signIn(browser, world, 'mona', { returnTo: '/pools/responses?tab=accounts' });
    expect(url.href).toBe(`${world.publicUrl}/pools/responses?tab=accounts`);
    const session = await world.call('SessionService.GetSession', {}, { cookie: browser.header(world.publicUrl) });
    expect(JSON.parse(session.text).session.operator).toMatchObject({
      name: 'mona',
      role: 'ROLE_OPERATOR',
      oidcSubject: 'mona',
    });
    expect(browser.cookie(world.publicUrl, 'gateway-oidc')).toBeUndefined();
    expect(await world.audited()).toMatchObject([{ actor: 'mona', action: 'session.begin', subject: 'oidc' }]);
  });
});

describe('an operator who signs in again by OpenID Connect', () => {
  it('has the role of the current groups, and the older session has ended', async () => {
    const world = await aWorld();
    const [before, after] = [new Browser(), new Browser()];
    world.provider.groups.set('mona', 'platform');
    await signIn(before, world, 'mona');
    world.provider.groups.set('mona', ['everyone']);
    await signIn(after, world, 'mona');
    const ask = (browser: Browser) =>
      world.call('SessionService.GetSession', {}, { cookie: browser.header(world.publicUrl) });
    expect((await ask(before)).status).toBe(401);
    expect(JSON.parse((await ask(after)).text).session.operator.role).toBe('ROLE_VIEWER');
    expect(await world.operators.list()).toHaveLength(1);
    expect(world.provider.discoveries()).toBe(1);
  });

  it('is refused without a group that has a role, and running sessions end', async () => {
    const world = await aWorld();
    const [before, after] = [new Browser(), new Browser()];
    world.provider.groups.set('mona', ['sre']);
    await signIn(before, world, 'mona');
    world.provider.groups.set('mona', ['cooks']);
    const { status, text } = await signIn(after, world, 'mona');
    expect([status, text]).toEqual([403, expect.stringContaining('No group of mona has a role')]);
    expect(after.cookie(world.publicUrl, 'gateway-session')).toBeUndefined();
    const ask = await world.call('SessionService.GetSession', {}, { cookie: before.header(world.publicUrl) });
    expect(ask.status).toBe(401);
    expect(await world.audited()).toContainEqual(
      expect.objectContaining({ action: 'session.refuse', subject: 'mona: no group with a role', outcome: 'refused' }),
    );
  });

  it('becomes a person without a role when the groups allow only that, and running sessions end', async () => {
    const world = await aWorld({}, { OIDC_PEOPLE_GROUPS: 'cooks=team-a' });
    const [before, after] = [new Browser(), new Browser()];
    world.provider.groups.set('mona', ['sre']);
    await signIn(before, world, 'mona');
    world.provider.groups.set('mona', ['cooks']);
    await signIn(after, world, 'mona');
    const ask = (browser: Browser, method: string) =>
      world.call(method, {}, { cookie: browser.header(world.publicUrl) });
    expect((await ask(before, 'SessionService.GetSession')).status).toBe(401);
    const { session } = JSON.parse((await ask(after, 'SessionService.GetSession')).text);
    expect(session.person).toMatchObject({ personId: 'mona', groupId: 'group-1' });
    const headers = { cookie: after.header(world.publicUrl), 'x-csrf-token': session.csrfToken };
    expect((await world.call('TokenService.ListTokens', {}, headers)).status).toBe(403);
    // Without the token of the session, no page of another site can make a call.
    expect((await ask(after, 'MyTokenService.IssueMyToken')).status).toBe(403);
    expect(await world.audited()).toContainEqual(
      expect.objectContaining({ actor: 'person mona', action: 'session.begin', subject: 'oidc' }),
    );
    world.disabledPeople.add('mona');
    expect((await ask(after, 'SessionService.GetSession')).status).toBe(401);
    expect((await signIn(new Browser(), world, 'mona')).status).toBe(403);
  });

  it.each([
    ['is in no group that may sign in', ['waiters'], {}],
    ['has an e-mail address that is not verified', ['cooks'], { email: 'm@acme.test', email_verified: false }],
  ])('is refused as a person who %s', async (_, groups, claims) => {
    const world = await aWorld({}, { OIDC_PEOPLE_GROUPS: 'cooks', OIDC_SCOPES: 'openid profile groups email' });
    world.provider.groups.set('mona', groups);
    world.provider.claims.set('mona', claims);
    const browser = new Browser();
    expect((await signIn(browser, world, 'mona')).status).toBe(403);
    expect(browser.cookie(world.publicUrl, 'gateway-session')).toBeUndefined();
  });

  it('is refused as a person while the group of tokens does not exist, and where no one may sign in', async () => {
    const world = await aWorld({}, { OIDC_PEOPLE_GROUPS: '*=team-a' });
    world.groupNames.clear();
    const browser = new Browser();
    const refused = await signIn(browser, world, 'mona');
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('does not exist')]);
    world.groupNames.set('group-1', 'team-a');
    expect((await signIn(browser, world, 'mona')).url.href).toBe(`${world.publicUrl}/`);
    const closed = await aWorld();
    expect((await signIn(new Browser(), closed, 'mona')).status).toBe(403);
    expect(closed.known.size).toBe(0);
  });

  it('is refused while disabled here', async () => {
    const world = await aWorld();
    world.provider.groups.set('mona', ['sre']);
    await signIn(new Browser(), world, 'mona');
    const [mona] = await world.operators.list();
    await world.operators.update(mona?.operator_id ?? '', { disabled: true }, 0);
    expect((await signIn(new Browser(), world, 'mona')).status).toBe(403);
  });

  it.each([
    ['admin\u200b', 'eve'],
    ['\u202enimda', 'eve'],
    ['ad\u00admin', 'eve'],
    ['admin\n', 'admin (eve)'],
    [' admin ', 'admin (eve)'],
    ['\ud800admin', 'eve'],
    ['', 'eve'],
  ])('gets no name that looks like another one: not %j', async (preferred_username, shown) => {
    const world = await aWorld();
    await world.operator('admin', 'admin');
    world.provider.groups.set('eve', ['everyone']);
    world.provider.claims.set('eve', { preferred_username });
    await signIn(new Browser(), world, 'eve');
    expect((await world.operators.list()).map(({ name }) => name)).toEqual(['admin', shown]);
  });

  it('never gets the name of another operator', async () => {
    const world = await aWorld();
    await world.operator('admin', 'mona');
    world.provider.groups.set('mona', ['everyone']);
    await signIn(new Browser(), world, 'mona');
    expect((await world.operators.list()).map(({ name }) => name)).toEqual(['mona', 'mona (mona)']);
  });
});

it('a session ends after OIDC_SESSION_HOURS, so that lost groups take effect by then', async () => {
  const world = await aWorld({}, { OIDC_SESSION_HOURS: '2' });
  const browser = new Browser();
  world.provider.groups.set('mona', ['sre']);
  await signIn(browser, world, 'mona');
  world.provider.groups.delete('mona');
  const ask = () => world.call('SessionService.GetSession', {}, { cookie: browser.header(world.publicUrl) });
  for (let minutes = 0; minutes < 119; minutes += 7) {
    expect((await ask()).status).toBe(200);
    world.time.advanceMs(7 * 60_000);
  }
  world.time.advanceMs(60_000);
  expect((await ask()).status).toBe(401);
  // The provider still recognizes the user; the groups no longer give a role.
  expect((await signIn(browser, world, 'mona')).status).toBe(403);
});

describe('the way back from the provider', () => {
  it('is closed to browsers that did not begin it', async () => {
    const world = await aWorld();
    world.provider.groups.set('eve', ['platform']);
    const [eve, victim] = [new Browser(), new Browser()];
    const answered = await signIn(eve, world, 'eve', { until: ({ pathname }) => pathname === '/oidc/callback' });
    const link = answered.url.href;
    expect(link).toContain('code=');
    expect((await victim.open(link)).status).toBe(400);
    // The same with a sign-in of their own in progress.
    await victim.open(`${world.publicUrl}/oidc/sign-in`);
    expect((await victim.open(link)).status).toBe(400);
    expect(victim.cookie(world.publicUrl, 'gateway-session')).toBeUndefined();
    expect(await world.operators.list()).toEqual([]);
  });

  it('leads to no other site by a path of two slashes', async () => {
    const world = await aWorld();
    world.provider.groups.set('mona', ['sre']);
    const returnTo = '/.//console.invalid//evil.example/login';
    const { url } = await signIn(new Browser(), world, 'mona', { returnTo });
    expect(url.href).toBe(`${world.publicUrl}/console.invalid//evil.example/login`);
  });

  it('asks the provider nothing for a cookie that was not made here, was made too long ago, or was used', async () => {
    const world = await aWorld();
    world.provider.groups.set('mona', ['sre']);
    const ownDoing = { state: 's', nonce: 'n', codeVerifier: 'v', returnTo: '/' };
    const text = Buffer.from(JSON.stringify({ ...ownDoing, begunAtMs: Date.now() })).toString('base64url');
    const comeBack = (cookie: string, query = 'code=c&state=s') =>
      world.send('GET', `/oidc/callback?${query}`, { cookie: `gateway-oidc=${cookie}` });
    const made = ['', '.', text, `${text}.`, `${text}.${text}`, `${text}.${'A'.repeat(43)}`];
    for (const cookie of made) expect((await comeBack(cookie)).status, cookie).toBe(400);

    const browser = new Browser();
    const until = ({ pathname }: URL) => pathname === '/oidc/callback';
    const { url } = await signIn(browser, world, 'mona', { until });
    const genuine = browser.cookie(world.publicUrl, 'gateway-oidc') ?? '';
    const [body = '', tag = ''] = genuine.split('.');
    const changed = { ...JSON.parse(Buffer.from(body, 'base64url').toString()), returnTo: '/tokens' };
    const forged = `${Buffer.from(JSON.stringify(changed)).toString('base64url')}.${tag}`;
    expect((await comeBack(forged, url.search.slice(1))).status).toBe(400);
    expect(world.provider.exchanges()).toBe(0);
    expect((await comeBack(genuine, url.search.slice(1))).status).toBe(303);
    expect((await comeBack(genuine, url.search.slice(1))).status).toBe(400);
    expect(world.provider.exchanges()).toBe(1);

    const late = new Browser();
    const answered = await signIn(late, world, 'mona', { until });
    world.time.advanceMs(600_000);
    const old = late.cookie(world.publicUrl, 'gateway-oidc') ?? '';
    expect((await comeBack(old, answered.url.search.slice(1))).status).toBe(400);
    expect(world.provider.exchanges()).toBe(1);
  });

  it('is bounded for each address, and so is the way there', async () => {
    const world = await aWorld();
    const statuses: (number | undefined)[] = [];
    for (let n = 0; n < 100; n++) statuses.push((await world.send('GET', '/oidc/callback?code=c&state=s')).status);
    expect(statuses).toEqual([...Array(60).fill(400), ...Array(40).fill(429)]);
    expect((await world.send('GET', '/oidc/sign-in')).status).toBe(429);
    expect(await world.audited()).toMatchObject([{ action: 'session.refuse', outcome: 'refused' }]);
    expect(await world.metrics.exposition()).toContain(
      'gateway_admin_sign_ins_total{method="oidc",result="throttled"} 41',
    );
    world.time.advanceMs(60_001);
    expect((await world.send('GET', '/oidc/sign-in')).status).toBe(303);
  });

  it.each(['https://evil.example/', '//evil.example/', '/\\evil.example', 'javascript:alert(1)', ''])(
    'never leads to %j',
    async (returnTo) => {
      const world = await aWorld();
      world.provider.groups.set('mona', ['sre']);
      const { url } = await signIn(new Browser(), world, 'mona', { returnTo });
      expect(url.href).toBe(`${world.publicUrl}/`);
    },
  );
});

it('a provider that is away costs the others nothing, and is asked again', async () => {
  const world = await aWorld();
  const { bearer } = await world.operator('admin');
  const { port } = world.provider.server.address() as { readonly port: number };
  world.provider.server.closeAllConnections();
  await new Promise((resolve) => world.provider.server.close(resolve));
  const away = await world.send('GET', '/oidc/sign-in');
  expect([away.status, away.text]).toEqual([502, expect.stringContaining('is unreachable')]);
  expect((await world.call('SessionService.GetSession', {}, bearer)).status).toBe(200);
  expect(JSON.parse((await world.call('SessionService.GetSignInOptions')).text)).toEqual({
    oidcLabel: 'Sign in with Example',
  });
  world.provider.server.listen(port, '127.0.0.1');
  expect((await world.send('GET', '/oidc/sign-in')).status).toBe(303);
});
