import { testDatabases } from '@gateway/database/testing';
import { describe, expect, it } from 'vitest';
import { hashKeyOf } from '../src/hashing/hash-key.ts';
import { DeviceGrants } from '../src/people/device-grants.ts';
import { parseRefreshToken, sessionTexts } from '../src/people/session-texts.ts';

describe.each(testDatabases)('device grants over $name', ({ open }) => {
  it('are bounded: the oldest one of the busiest network makes room', async () => {
    await using opened = await open();
    const { database } = opened;
    const grants = new DeviceGrants(database, 4);
    const add = (name: string, address: string, nowMs: number) => {
      const codes = { device_code_hash: name, user_code_hash: `user ${name}` };
      return grants.add({ ...codes, surface: '', client: '', address, expires_at_ms: nowMs + 600_000 }, nowMs);
    };
    await add('dana', '192.0.2.1', 1_000);
    for (const n of [1, 2, 3, 4, 5]) await add(`stranger ${n}`, `2001:db8:1:2::${n}`, 1_000 + n);
    await add('erin', '::ffff:192.0.2.1', 2_000);
    const kept = await database
      .selectFrom('device_grants')
      .select('device_code_hash')
      .orderBy('created_at_ms')
      .execute();
    expect(kept.map((each) => each.device_code_hash)).toEqual(['dana', 'stranger 4', 'stranger 5', 'erin']);
    // Those that have expired need no room.
    await add('late', '198.51.100.1', 700_000);
    expect(await database.selectFrom('device_grants').selectAll().execute()).toHaveLength(5);
  });
});

describe('a refresh token', () => {
  const [key, other] = [hashKeyOf(Buffer.alloc(32, 1)), hashKeyOf(Buffer.alloc(32, 2))];
  const session = { sessionId: '01a1fc6b-b507-756f-be4c-3808a428abd3', seed: 'seed' };
  const { refreshToken } = sessionTexts(key, session, 7);

  it('is known without a lookup to be made with one of the keys', () => {
    expect(parseRefreshToken(refreshToken, [other, key])).toMatchObject({
      sessionId: session.sessionId,
      generation: 7,
    });
    expect(parseRefreshToken(refreshToken, [other])).toBeUndefined();
    for (let at = 5; at < refreshToken.length; at++) {
      const changed = refreshToken[at] === 'x' ? 'y' : 'x';
      const text = `${refreshToken.slice(0, at)}${changed}${refreshToken.slice(at + 1)}`;
      expect(parseRefreshToken(text, [key, other])).toBeUndefined();
    }
  });
});
