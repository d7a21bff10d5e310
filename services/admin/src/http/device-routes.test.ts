import { describe, expect, it } from 'vitest';
import { Browser, type Page } from '../__fixtures__/browser.ts';
import { aSignInWorld, passProvider, type SignInWorld } from '../__fixtures__/sign-in-world.ts';

const userCode = 'KDRT-PQXW';

/** A client at 10.0.0.7 waits for a person to confirm its code. */
async function aWorld(env: Readonly<Record<string, string>> = {}) {
  const world = await aSignInWorld({}, { OIDC_PEOPLE_GROUPS: '*', ...env });
  const createdAtMs = world.time.nowMs - 90_000;
  world.grants.set(userCode, {
    surface: 'claude_code',
    client: 'claude-code/2.1.332',
    address: '10.0.0.7',
    createdAtMs,
  });
  return world;
}

const pageOf = (world: SignInWorld, code = userCode) => `${world.publicUrl}/device?user_code=${code}`;

/** Confirms the code, as a person does who presses the button. */
async function confirm(browser: Browser, world: SignInWorld, name: string): Promise<Page> {
  await browser.open(pageOf(world));
  const first = await browser.open(`${world.publicUrl}/device`, { form: { user_code: userCode } });
  return passProvider(browser, first, world, name);
}

describe('the page where a person confirms a code', () => {
  it('shows who asks, and submits nothing by itself', async () => {
    const world = await aWorld();
    const { status, text, headers } = await new Browser().open(pageOf(world));
    expect(status).toBe(200);
    for (const shown of [userCode, 'claude-code/2.1.332', '10.0.0.7', '1 min ago']) expect(text).toContain(shown);
    expect(text).not.toContain('<script');
    expect(headers['content-security-policy']).toBe(
      `default-src 'none'; base-uri 'none'; form-action 'self' ${world.provider.issuer}; frame-ancestors 'none'`,
    );
    expect(world.decisions).toEqual([]);
  });

  it('signs the client in only after the person has signed in at the provider', async () => {
    const world = await aWorld();
    world.provider.claims.set('dana', { email: 'dana@acme.test', email_verified: true, name: 'Dana' });
    const page = await confirm(new Browser(), world, 'dana');
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('You are signed in')]);
    const { issuer } = world.provider;
    expect(world.decisions).toMatchObject([{ userCode, person: { issuer, subject: 'dana', groupId: '' } }]);
    expect(await world.audited()).toMatchObject([
      { action: 'sign_in.approve', actor: 'dana', subject: 'claude_code', after: { clientAddress: '10.0.0.7' } },
    ]);
  });

  it('needs no role of an operator, and begins no session of the console', async () => {
    const world = await aWorld();
    world.provider.groups.set('dana', ['cooks']);
    const browser = new Browser();
    expect((await confirm(browser, world, 'dana')).status).toBe(200);
    expect(browser.cookie(world.publicUrl, 'gateway-session')).toBeUndefined();
    expect(await world.operators.list()).toEqual([]);
  });

  it('denies when the person says so', async () => {
    const world = await aWorld();
    const page = await new Browser().open(`${world.publicUrl}/device/deny`, { form: { user_code: userCode } });
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('Denied')]);
    expect(world.decisions).toEqual([{ userCode, person: undefined }]);
    expect(await world.audited()).toMatchObject([{ action: 'sign_in.deny', subject: 'claude_code' }]);
  });

  it('puts the tokens of people into the group that their group at the provider has', async () => {
    const world = await aWorld({ OIDC_PEOPLE_GROUPS: 'staff,developers=team-a' });
    world.provider.groups.set('dana', ['developers']);
    await confirm(new Browser(), world, 'dana');
    expect(world.decisions).toMatchObject([{ person: { groupId: 'group-1' } }]);
  });

  it('asks for the code when it is not in the address, or is unknown', async () => {
    const world = await aWorld();
    const browser = new Browser();
    expect((await browser.open(`${world.publicUrl}/device`)).text).toContain('name="user_code"');
    expect(await browser.open(pageOf(world, 'ABCD-EFGH'))).toMatchObject({ status: 404 });
  });

  it('shows nothing of a client as HTML', async () => {
    const world = await aWorld();
    world.grants.set(userCode, { client: '<script>alert(1)</script>"', address: '10.0.0.7' });
    const { text } = await new Browser().open(pageOf(world));
    expect(text).toContain('&lt;script&gt;');
    expect(text).not.toContain('<script>');
  });
});

describe('a sign-in from a client is refused', () => {
  it('without a group that may sign in, and the client learns it', async () => {
    const world = await aWorld({ OIDC_PEOPLE_GROUPS: 'developers' });
    world.provider.groups.set('dana', ['cooks']);
    expect((await confirm(new Browser(), world, 'dana')).status).toBe(403);
    expect(world.decisions).toEqual([{ userCode, person: undefined }]);
    expect(await world.audited()).toMatchObject([{ outcome: 'refused', subject: 'dana: no group that may sign in' }]);
  });

  it.each([{ OIDC_PEOPLE_GROUPS: '' }, { OIDC_PEOPLE_GROUPS: ' , ' }])(
    'where no one has written who may: %j',
    async (env) => {
      const world = await aWorld(env);
      world.provider.groups.set('dana', ['developers', 'platform']);
      const page = await confirm(new Browser(), world, 'dana');
      expect([page.status, page.text]).toEqual([403, expect.stringContaining('People can not sign in here')]);
      expect(world.decisions).toEqual([{ userCode, person: undefined }]);
      const subject = 'dana: OIDC_PEOPLE_GROUPS is empty';
      expect(await world.audited()).toMatchObject([{ outcome: 'refused', subject }]);
    },
  );

  it('while the group of tokens that the setting names does not exist', async () => {
    const world = await aWorld({ OIDC_PEOPLE_GROUPS: 'developers=team-a,*' });
    world.provider.groups.set('dana', ['developers']);
    world.groupNames.set('group-1', 'another name');
    expect((await confirm(new Browser(), world, 'dana')).status).toBe(403);
    expect(world.decisions).toEqual([{ userCode, person: undefined }]);
    const subject = 'dana: the group of tokens team-a does not exist';
    expect(await world.audited()).toMatchObject([{ outcome: 'refused', subject }]);
  });

  it('with an e-mail address that the provider calls unverified', async () => {
    const world = await aWorld({ OIDC_SCOPES: 'openid profile groups email' });
    world.provider.claims.set('dana', { email: 'boss@acme.test', email_verified: false });
    expect((await confirm(new Browser(), world, 'dana')).status).toBe(403);
    expect(world.decisions).toEqual([{ userCode, person: undefined }]);
    const subject = 'dana: the e-mail address is not verified';
    expect(await world.audited()).toMatchObject([{ action: 'session.refuse', outcome: 'refused', subject }]);
  });

  it('of a disabled person', async () => {
    const world = await aWorld();
    world.disabledPeople.add('dana');
    const page = await confirm(new Browser(), world, 'dana');
    expect([page.status, page.text]).toEqual([403, expect.stringContaining('disabled')]);
    expect(await world.audited()).toMatchObject([{ outcome: 'refused', subject: 'dana: disabled' }]);
  });

  it('that another browser began', async () => {
    const world = await aWorld();
    const [victim, attacker] = [new Browser(), new Browser()];
    await attacker.open(pageOf(world));
    const first = await attacker.open(`${world.publicUrl}/device`, { form: { user_code: userCode } });
    const back = await passProvider(attacker, first, world, 'mallory', ({ pathname }) => pathname === '/oidc/callback');
    // The victim follows the attacker's link back to the console.
    expect((await victim.open(back.url.href)).status).toBe(400);
    expect(world.decisions).toEqual([]);
    expect(await world.audited()).toMatchObject([
      { action: 'session.refuse', outcome: 'refused', subject: 'an answer of the provider for another browser' },
    ]);
  });

  it('that a page of another site submits', async () => {
    const world = await aWorld();
    const form = `user_code=${userCode}`;
    for (const path of ['/device', '/device/deny']) {
      const sent = await world.send(
        'POST',
        path,
        {
          origin: 'https://evil.example',
          'sec-fetch-site': 'cross-site',
          'content-type': 'application/x-www-form-urlencoded',
        },
        form,
      );
      expect(sent.status).toBe(403);
    }
    expect(world.decisions).toEqual([]);
    expect(world.grants.has(userCode)).toBe(true);
    expect(await world.audited()).toMatchObject([{ action: 'page.refuse', outcome: 'refused' }]);
  });

  it('of a foreign host name', async () => {
    const world = await aWorld();
    expect((await world.send('GET', `/device?user_code=${userCode}`, { host: 'evil.example' })).status).toBe(403);
    expect(await world.audited()).toMatchObject([{ action: 'page.refuse', subject: 'Host evil.example: GET /device' }]);
  });

  it('never because many people behind one address confirm their codes', async () => {
    const world = await aWorld();
    const statuses = new Set<number | undefined>();
    for (let n = 0; n < 60; n++) statuses.add((await new Browser().open(pageOf(world))).status);
    expect([...statuses]).toEqual([200]);
  });

  it('after too many codes from one address', async () => {
    const world = await aWorld();
    const browser = new Browser();
    const statuses = new Set<number | undefined>();
    for (let n = 0; n < 25; n++) statuses.add((await browser.open(pageOf(world, `AAAA-AAA${n}`))).status);
    expect([...statuses]).toEqual([404, 429]);
    expect(await world.audited()).toMatchObject([
      { subject: 'an unknown code', outcome: 'refused', after: { times: 10 } },
    ]);
    world.time.advanceMs(60_001);
    expect((await browser.open(pageOf(world))).status).toBe(200);
  });
});
