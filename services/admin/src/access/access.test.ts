import { describe, expect, it } from 'vitest';
import { anAdminWorld, asBrowser } from '../__fixtures__/admin-world.ts';

/** The same table covers the routes that are not RPCs: permissions.test.ts. */
const forAdmins = [
  'OperatorService.ListOperators',
  'OperatorService.CreateOperator',
  'OperatorService.UpdateOperator',
  'OperatorService.RotateOperatorToken',
  'AuditService.ListAudit',
] as const;

describe('a session', () => {
  it('begins with a token, and has a cookie that scripts and other sites cannot use', async () => {
    const world = await anAdminWorld();
    const { token } = await world.operator('viewer', 'vera');
    const answer = await world.call('SessionService.SignIn', { token: ` ${token} ` });
    expect(answer.headers['set-cookie']).toEqual([
      expect.stringMatching(/^gateway-session=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/),
    ]);
    const { session } = JSON.parse(answer.text);
    expect(session).toMatchObject({ operator: { name: 'vera', role: 'ROLE_VIEWER' }, csrfToken: expect.any(String) });
    expect(session.expiresAtMs).toBe(Date.parse('2026-11-30T10:00:00Z'));
    expect(answer.text).not.toContain(token);
    const cookie = String(answer.headers['set-cookie']?.[0]).split(';')[0];
    // A reloaded page has only the cookie, and learns the rest.
    const again = await world.call('SessionService.GetSession', {}, { cookie });
    expect(JSON.parse(again.text).session).toEqual({
      ...session,
      operator: { ...session.operator, lastSeenAtMs: expect.any(Number) },
    });
    const stored = JSON.stringify(await world.database.selectFrom('operator_sessions').selectAll().execute());
    expect(stored).not.toContain(String(cookie).split('=')[1]);
    expect(await world.audited()).toMatchObject([{ actor: 'vera', action: 'session.begin', outcome: 'done' }]);
  });

  it('has a cookie of this host alone where the connection has TLS', async () => {
    const world = await anAdminWorld({ ADMIN_TRUSTED_PROXIES: '127.0.0.1' });
    const { token } = await world.operator('viewer');
    const proxied = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.7' };
    const answer = await world.call('SessionService.SignIn', { token }, proxied);
    expect(answer.headers['set-cookie']?.[0]).toMatch(/^__Host-gateway-session=.*; Path=\/; .*; Secure$/);
    expect(await world.audited()).toMatchObject([{ address: '192.0.2.7' }]);
  });

  it('has such a cookie where the console has an address with https, whatever is known of the proxy', async () => {
    const ADMIN_PUBLIC_URL = 'https://admin.example';
    const world = await anAdminWorld({ ADMIN_PUBLIC_URL, ADMIN_ALLOWED_HOSTS: 'behind' });
    const { token } = await world.operator('viewer');
    const cookieFor = async (headers: Readonly<Record<string, string>>) =>
      (await world.call('SessionService.SignIn', { token }, headers)).headers['set-cookie']?.[0] ?? '';
    const secure = /^__Host-gateway-session=.*; Path=\/; .*; Secure$/;
    expect(await cookieFor({ host: 'admin.example' })).toMatch(secure);
    expect(await cookieFor({ host: 'behind:9090', origin: ADMIN_PUBLIC_URL })).toMatch(secure);
    // A browser would not keep a Secure cookie over plain HTTP, beside the proxy.
    expect(await cookieFor({ host: 'localhost:9090', origin: 'http://localhost:9090' })).toMatch(/^gateway-session=/);

    const [cookie = ''] = (await cookieFor({ host: 'admin.example' })).split(';');
    const ask = (sent: string, headers: Readonly<Record<string, string>>) =>
      world.call('SessionService.GetSession', {}, { cookie: sent, ...headers });
    // Also if the proxy changes the Host header, and the browser sends no origin.
    expect((await ask(cookie, { host: 'behind:9090' })).status).toBe(200);
    // Over TLS a name that scripts and other hosts may set is ignored.
    expect((await ask(cookie.replace('__Host-', ''), { host: 'admin.example' })).status).toBe(401);
  });

  it('believes only the proxies that its settings name', async () => {
    const world = await anAdminWorld({ ADMIN_TRUSTED_PROXIES: '10.0.0.0/8' });
    const { token } = await world.operator('viewer');
    const answer = await world.call('SessionService.SignIn', { token }, { 'x-forwarded-for': '192.0.2.7' });
    expect(answer.headers['set-cookie']?.[0]).toMatch(/^gateway-session=/);
    expect(await world.audited()).toMatchObject([{ address: '127.0.0.1' }]);
  });

  it('carries its csrf token with every call, which a stolen cookie does not', async () => {
    const world = await anAdminWorld();
    const { cookie, csrfToken } = await world.signIn((await world.operator('admin', 'ada')).token);
    for (const headers of [{ cookie }, { cookie, 'x-csrf-token': 'guessed' }]) {
      expect(await world.call('OperatorService.ListOperators', {}, headers)).toMatchObject({ status: 403 });
    }
    expect(await world.call('OperatorService.ListOperators', {}, { cookie, 'x-csrf-token': csrfToken })).toMatchObject({
      status: 200,
    });
    expect((await world.audited()).at(-1)).toMatchObject({
      actor: 'ada',
      action: 'call.refuse',
      subject: 'OperatorService.ListOperators',
      outcome: 'refused',
    });
  });

  it('ends when it is not used, and is audited when it is tried then', async () => {
    const world = await anAdminWorld({ ADMIN_SESSION_IDLE_MINUTES: '60' });
    const session = await world.signIn((await world.operator('admin')).token);
    const list = () => world.call('OperatorService.ListOperators', {}, asBrowser(session));
    for (let minutes = 0; minutes < 180; minutes += 45) {
      world.time.advanceMs(45 * 60_000);
      expect((await list()).status).toBe(200);
    }
    world.time.advanceMs(60 * 60_000);
    const late = await list();
    expect(late).toMatchObject({ status: 401, code: 'unauthenticated' });
    expect(late.headers['set-cookie']).toEqual([expect.stringContaining('gateway-session=; Path=/; Max-Age=0')]);
    expect((await world.audited()).at(-1)).toMatchObject({ action: 'session.refuse', outcome: 'refused' });
  });

  it('ends at last, used or not', async () => {
    const world = await anAdminWorld({ ADMIN_SESSION_MAX_HOURS: '10' });
    const session = await world.signIn((await world.operator('admin')).token);
    const list = () => world.call('OperatorService.ListOperators', {}, asBrowser(session));
    world.time.advanceMs(10 * 3_600_000 - 1);
    expect((await list()).status).toBe(200);
    world.time.advanceMs(1);
    expect((await list()).status).toBe(401);
    await world.signIn((await world.operator('viewer')).token);
    expect(await world.metrics.exposition()).toContain('gateway_admin_open_sessions 1');
    expect(await world.database.selectFrom('operator_sessions').selectAll().execute()).toHaveLength(1);
  });

  it('ends when its operator signs out', async () => {
    const world = await anAdminWorld();
    const session = await world.signIn((await world.operator('admin')).token);
    const out = await world.call('SessionService.SignOut', {}, asBrowser(session));
    expect(out).toMatchObject({ status: 200 });
    expect(out.headers['set-cookie']).toEqual([expect.stringContaining('Max-Age=0')]);
    expect((await world.call('SessionService.GetSession', {}, { cookie: session.cookie })).status).toBe(401);
  });

  it.each([
    ['is disabled', 'UpdateOperator', { disabled: true }],
    ['gets another role', 'UpdateOperator', { role: 'ROLE_VIEWER' }],
    ['gets another token', 'RotateOperatorToken', {}],
  ])('ends at once when its operator %s', async (_, method, change) => {
    const world = await anAdminWorld();
    const { bearer } = await world.operator('admin');
    const { token, operatorId } = await world.operator('operator', 'otto');
    const { cookie } = await world.signIn(token);
    const ask = () => world.call('SessionService.GetSession', {}, { cookie });
    expect((await ask()).status).toBe(200);
    expect((await world.call(`OperatorService.${method}`, { operatorId, ...change }, bearer)).status).toBe(200);
    expect((await ask()).status).toBe(401);
  });
});

describe('a role', () => {
  it.each(forAdmins)('of viewer does not reach for %s, and that is audited', async (method) => {
    const world = await anAdminWorld();
    const { bearer, token } = await world.operator('viewer', 'vera');
    const refused = { status: 403, code: 'permission_denied' };
    expect(await world.call(method, {}, bearer)).toMatchObject(refused);
    expect(await world.call(method, {}, asBrowser(await world.signIn(token)))).toMatchObject(refused);
    expect(await world.audited()).toContainEqual(
      expect.objectContaining({ actor: 'vera', action: 'call.refuse', subject: method, outcome: 'refused' }),
    );
  });

  it('is not lost on the way: the last admin stays one', async () => {
    const world = await anAdminWorld();
    const { bearer, operatorId } = await world.operator('admin');
    for (const change of [{ disabled: true }, { role: 'ROLE_OPERATOR' }]) {
      const answer = await world.call('OperatorService.UpdateOperator', { operatorId, ...change }, bearer);
      expect(answer.code).toBe('failed_precondition');
    }
    expect((await world.audited()).map(({ outcome }) => outcome)).toEqual(['failed', 'failed']);
  });
});

describe("the holder of a caller's token", () => {
  it('signs in and sees its own usage alone', async () => {
    const world = await anAdminWorld();
    const { token } = world.caller('team-x');
    const session = await world.signIn(token);
    const answer = await world.call('SessionService.GetSession', {}, asBrowser(session));
    expect(JSON.parse(answer.text).session.token).toMatchObject({ label: 'team-x' });
    expect(answer.text).not.toContain('for operators');
    for (const method of forAdmins) {
      expect((await world.call(method, {}, asBrowser(session))).code).toBe('permission_denied');
    }
    expect((await world.audited()).at(-1)).toMatchObject({ actor: 'token team-x', action: 'call.refuse' });
  });

  it.each([
    ['is revoked', { revokedAtMs: 1_000 }],
    ['has expired', { expiresAtMs: 1_000 }],
    ['has got another text', { revision: 1 }],
  ])('is out as soon as the token %s', async (_, change) => {
    const world = await anAdminWorld();
    const caller = world.caller('team-x');
    const { cookie } = await world.signIn(caller.token);
    caller.change(change);
    expect((await world.call('SessionService.GetSession', {}, { cookie })).status).toBe(401);
  });
});

describe('right tokens', () => {
  it('sign in a limited number of times a minute, with one session each and one row of the audit log', async () => {
    const world = await anAdminWorld();
    const { token } = world.caller('team-x');
    const other = await world.operator('viewer', 'vera');
    const codes: string[] = [];
    for (let n = 0; n < 200; n++) codes.push((await world.call('SessionService.SignIn', { token })).code);
    expect(codes).toEqual([...Array(30).fill(''), ...Array(170).fill('resource_exhausted')]);
    expect(await world.database.selectFrom('operator_sessions').selectAll().execute()).toHaveLength(30);
    const lastAt = '2026-11-23T10:00:00.000Z';
    expect(await world.audited()).toMatchObject([
      { actor: 'token team-x', action: 'session.begin', after: { times: 30, lastAt } },
      { actor: 'token team-x', action: 'session.refuse', subject: 'too many sign-ins', after: { times: 100 } },
    ]);
    // The limit affects no other holder.
    await world.signIn(other.token);
    world.time.advanceMs(60_001);
    await world.signIn(token);
  });

  it('sign in a limited number of times a minute from one address, for all holders together', async () => {
    const world = await anAdminWorld({ ADMIN_TRUSTED_PROXIES: '127.0.0.1' });
    const tokens = Array.from({ length: 12 }, (_, n) => world.caller(`team-${n}`).token);
    const signInFrom = async (address: string, n: number) =>
      (await world.call('SessionService.SignIn', { token: tokens[n % 12] }, { 'x-forwarded-for': address })).code;
    const codes: string[] = [];
    for (let n = 0; n < 120; n++) codes.push(await signInFrom('192.0.2.1', n));
    expect(codes.filter((code) => code === '')).toHaveLength(100);
    expect(await signInFrom('192.0.2.2', 0)).toBe('');
  });

  it('keep a hundred sessions at a time, the latest ones', async () => {
    const world = await anAdminWorld();
    const { token } = world.caller('team-x');
    const first = await world.signIn(token);
    for (let n = 0; n < 101; n++) {
      if (n % 25 === 0) world.time.advanceMs(60_001);
      await world.signIn(token);
    }
    expect(await world.database.selectFrom('operator_sessions').selectAll().execute()).toHaveLength(100);
    expect((await world.call('SessionService.GetSession', {}, { cookie: first.cookie })).status).toBe(401);
  });
});

describe('wrong tokens', () => {
  it('are refused, all hundred of them, and take one row of the audit log', async () => {
    const world = await anAdminWorld();
    const { token } = await world.operator('admin');
    const codes: string[] = [];
    for (let attempt = 0; attempt < 100; attempt++) {
      const wrong = attempt % 2 === 0 ? 'hunter2' : `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`;
      codes.push((await world.call('SessionService.SignIn', { token: wrong })).code);
    }
    expect(codes.slice(0, 10)).toEqual(Array(10).fill('unauthenticated'));
    expect(codes.slice(10)).toEqual(Array(90).fill('resource_exhausted'));
    expect(await world.audited()).toEqual([
      {
        ...{ actor: '', address: '127.0.0.1', action: 'session.refuse', outcome: 'refused' },
        ...{ subject: 'an unknown token', after: { times: 100 } },
      },
    ]);
    const shown = await world.metrics.exposition();
    expect(shown).toContain('gateway_admin_sign_ins_total{method="token",result="throttled"} 90');
    expect(shown).toContain('gateway_admin_refusals_total{reason="sign_in"} 100');
    // A stranger at the same address locks no one out.
    expect((await world.call('SessionService.SignIn', { token })).status).toBe(200);
  });

  it('of calls count as well, and hold up no token that was right before', async () => {
    const world = await anAdminWorld();
    const { bearer } = await world.operator('admin');
    const list = (headers: { readonly authorization: string }) =>
      world.call('OperatorService.ListOperators', {}, headers);
    expect((await list(bearer)).status).toBe(200);
    for (let attempt = 0; attempt < 12; attempt++) await list({ authorization: 'Bearer wrong' });
    expect((await list({ authorization: 'Basic d3Jvbmc=' })).status).toBe(429);
    expect((await list(bearer)).status).toBe(200);
  });
});

describe('ADMIN_TOKEN', () => {
  const developmentToken = 'gw_a_developmentonlydevelopmentonly15DEd7';

  it.each([
    [{}, 401],
    [{ ALLOW_DEVELOPMENT_SECRETS: 'true' }, 200],
  ])('of the example file does not sign in with %j, even if an operator still has it: %d', async (env, status) => {
    const world = await anAdminWorld(env);
    await world.operators.addFirst('admin', developmentToken);
    const bearer = { authorization: `Bearer ${developmentToken}` };
    expect((await world.call('SessionService.GetSession', {}, bearer)).status).toBe(status);
    expect((await world.call('SessionService.SignIn', { token: developmentToken })).status).toBe(status);
  });

  it('belongs to the first operator, and is unused once there are others', async () => {
    const ADMIN_TOKEN = 'gw_a_SuDRuxOT9LcYKeG2NEa20BQqlaqAA90clR8I';
    const bearer = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const world = await anAdminWorld({ ADMIN_TOKEN });
    const answer = await world.call('SessionService.GetSession', {}, bearer);
    expect(JSON.parse(answer.text).session).toMatchObject({ operator: { name: 'admin', role: 'ROLE_ADMIN' } });
    const [admin] = await world.operators.list();
    const rotated = await world.call('OperatorService.RotateOperatorToken', { operatorId: admin?.operator_id }, bearer);
    expect(rotated.status).toBe(200);
    expect((await world.call('SessionService.GetSession', {}, bearer)).status).toBe(401);
  });
});
