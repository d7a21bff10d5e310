import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type SimulatorOptions, startSimulator } from '../simulator.ts';

async function open(options: SimulatorOptions = {}) {
  const simulator = await startSimulator(options);
  onTestFinished(() => simulator[Symbol.asyncDispose]());
  const refresh = async (refreshToken: string, form: Record<string, string> = {}) => {
    const body = new URLSearchParams({
      grant_type: 'refresh_token',
      client_id: 'c',
      refresh_token: refreshToken,
      ...form,
    });
    const response = await fetch(`${simulator.url}/oauth/token`, { method: 'POST', body });
    return { status: response.status, json: JSON.parse(await response.text()) };
  };
  const statusWith = async (token: string) =>
    (await fetch(`${simulator.url}/v1/models`, { headers: { authorization: `Bearer ${token}` } })).status;
  return { simulator, refresh, statusWith };
}

describe('the token endpoint', () => {
  it('gives an access token that stands for the account, and a new refresh token', async () => {
    const { simulator, refresh, statusWith } = await open();
    const first = simulator.oauth.grant('team-a');
    const { status, json } = await refresh(first);
    expect(status).toBe(200);
    expect(json).toMatchObject({ token_type: 'Bearer', expires_in: 3_600 });
    expect(json.refresh_token).not.toBe(first);
    expect(await statusWith(json.access_token)).toBe(200);
    expect(simulator.requests({ path: '/v1/models' }).map(({ account }) => account)).toEqual(['team-a']);
  });

  it('revokes all tokens of a grant when a refresh token comes twice', async () => {
    const { simulator, refresh, statusWith } = await open();
    const first = simulator.oauth.grant('team-a');
    const { json } = await refresh(first);
    expect(await refresh(first)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    expect(await refresh(json.refresh_token)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    expect(await statusWith(json.access_token)).toBe(401);
    expect(simulator.oauth.families()).toEqual([
      { account: 'team-a', revoked: true, refreshes: 1, reuses: 1, mostAtOnce: 1 },
    ]);
  });

  it('lets access tokens expire', async () => {
    using time = new ManualTime(0);
    const { simulator, refresh, statusWith } = await open({ oauth: { accessTokenSeconds: 10 } });
    const { json } = await refresh(simulator.oauth.grant('team-a'));
    time.setMs(9_999);
    expect(await statusWith(json.access_token)).toBe(200);
    time.setMs(10_000);
    expect(await statusWith(json.access_token)).toBe(401);
  });

  it('refuses another grant type, and keeps the token good', async () => {
    const { simulator, refresh } = await open();
    const token = simulator.oauth.grant('team-a');
    const refused = await refresh(token, { grant_type: 'password' });
    expect(refused).toMatchObject({ status: 400, json: { error: 'unsupported_grant_type' } });
    expect((await refresh(token)).status).toBe(200);
  });

  it('fails as scripted, without touching the tokens', async () => {
    const { simulator, refresh } = await open();
    const token = simulator.oauth.grant('team-a');
    simulator.faults.add({
      path: '/oauth/token',
      account: 'team-a',
      times: 1,
      fault: { kind: 'status', status: 503, body: {} },
    });
    expect((await refresh(token)).status).toBe(503);
    expect((await refresh(token)).status).toBe(200);
  });

  it('counts requests that come at the same time, and keeps no token in the record', async () => {
    const { simulator, refresh } = await open({
      faults: [{ path: '/oauth/token', fault: { kind: 'delay', beforeHeadersMs: 50 } }],
    });
    const token = simulator.oauth.grant('team-a');
    await Promise.all([refresh(token), refresh(token)]);
    expect(simulator.oauth.families()[0]).toMatchObject({ mostAtOnce: 2, reuses: 1 });
    expect(simulator.requests().map(({ bodyBytes, account }) => [bodyBytes, account])).toEqual([
      [0, 'team-a'],
      [0, 'team-a'],
    ]);
  });
});
