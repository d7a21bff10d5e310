import { describe, expect, it } from 'vitest';
import { hostsOf } from './backends.ts';

describe('the hosts of a URL', () => {
  it.each([
    ['postgres://user:pass@db:6543/gateway?sslmode=require', 'db:6543'],
    ['postgres://user:p%40ss@db/gateway', 'db:5432'],
    ['postgres://user:pass@db-1:5432,db-2:5433,db-3/gateway', 'db-1:5432, db-2:5433, db-3:5432'],
    ['nats://token@n-1,nats://user:pass@n-2:4223', 'n-1:5432, n-2:4223'],
    ['redis://:pass@[::1]:6379/0', '[::1]:6379'],
    ['postgres://user:pass@%2Fvar%2Frun/gateway', ''],
    ['redis-sentinel://user:pass@s-1,s-2:26380/0#master', 's-1:5432, s-2:26380'],
  ])('%s are %s', (url, hosts) => expect(hostsOf(url, 5432)).toBe(hosts));

  it('never show a part of a password that is not written as URLs want it', () => {
    const passwords = ['pa,ss@word', '12,34', '12/34', '12?34', '12#34', '1?2@34', '12@34:56'];
    for (const password of passwords) {
      expect(['', 'db:1']).toContain(hostsOf(`postgres://user:${password}@db:1/x`, 1));
    }
  });
});
