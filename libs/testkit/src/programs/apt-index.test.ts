import { expect, it } from 'vitest';
import { packagesInPlan } from './debian-programs.ts';

const plan = `
NOTE: This is only a simulation!
Inst libjemalloc2 (5.3.0-1 Debian:12.15/oldstable [amd64])
Inst redis-tools [5:7.0.15-1] (5:7.0.15-1 Debian-Security:12 [amd64]) []
Inst redis-server (5:7.0.15-1 Debian-Security:12 [amd64])
Inst postgresql-common (248 Debian-Security:12 [all])
Inst libjson-perl (4.10000-1 Debian:12 [all])
Inst libpq-dev (15.18 Debian:12 [amd64])
Inst libllvm14 (1:14.0.6-12 Debian:12 [amd64])
Conf redis-server (5:7.0.15-1 Debian-Security:12 [amd64])
`;

it('unpacks the wanted packages and the libraries that are missing, and nothing else', () => {
  expect(packagesInPlan(plan, ['redis-server', 'redis-tools'])).toEqual([
    'redis-server',
    'redis-tools',
    'libjemalloc2',
  ]);
});

it('unpacks the wanted packages when nothing is missing', () => {
  expect(packagesInPlan('0 upgraded, 0 newly installed', ['nats-server'])).toEqual(['nats-server']);
});
