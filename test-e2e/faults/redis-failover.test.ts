import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisGroup, startRedisCluster, startRedisSentinels } from '@gateway/testkit/redis-groups';
import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import { type Asked, type LimitedKey, Limiters, longestGapMs, mostInAMinute } from './redis-failover-load.ts';

const isLong = process.env.FAULTS === 'long';
const limiters = 2;
/** Full within two seconds of load, so that a fresh window would exceed it. */
const limit = 60;
/** The bound of docs/limiter/outages.md for load that continues. */
const mostAllowed = 1.05 * limit;

describe.each([
  { name: 'Sentinels', start: startRedisSentinels, planned: ['SENTINEL', 'FAILOVER', 'mymaster'] },
  { name: 'a Redis Cluster', start: startRedisCluster, planned: ['CLUSTER', 'FAILOVER'] },
])('limits while a master of $name dies under load', ({ name, start, planned }) => {
  it('are enforced by every edge without a pause, and by the new master afterwards', async () => {
    await using stack = new AsyncDisposableStack();
    const group = stack.use(await start({ silenceMs: roomMs(1_000) }));
    const processes = stack.use(await Limiters.start(limiters, { REDIS_URL: group.url, ...group.env }));
    // Longer than a heartbeat: from now on each of them knows of the other.
    await sleep(roomMs(2_500));
    const scene = new Scene(group, processes);
    const fill = async () => {
      await expect.poll(() => scene.admitted(scene.full[0])).toBeGreaterThanOrEqual(limit / 2);
    };

    await fill();
    const victim = await group.masterOf(scene.full[0].key);
    const killedMs = Date.now();
    await victim.kill();
    const backMs = await scene.untilBack(killedMs, victim);
    const figures: Record<string, unknown> = { backAfterMs: backMs - killedMs };
    await expectAllRecorded(scene, group);
    if (isLong) {
      await sleep(10_000);
      await victim.restart();
      await sleep(20_000);
      const frozen = await group.masterOf(scene.full[0].key);
      const frozenMs = Date.now();
      await frozen.pause();
      figures.backFromFrozenMs = (await scene.untilBack(frozenMs, frozen)) - frozenMs;
      await frozen.resume();
      await sleep(30_000);
      const before = await group.masterOf(scene.full[0].key);
      const plannedMs = Date.now();
      const candidates = name === 'Sentinels' ? group.sentinels : await replicasOf(group, before.port);
      const [asked] = candidates;
      if (asked === undefined) return expect.fail('somebody can be asked');
      await group.ask(asked, ...planned);
      figures.backFromPlannedMs = (await scene.untilBack(plannedMs, before)) - plannedMs;
      await sleep(65_000);
    } else await sleep(500);
    const asked = await scene.end();

    const most = Object.fromEntries(scene.full.map(({ key }) => [key, mostInAMinute(asked, key)]));
    const calls = asked.map(({ sentMs, answeredMs }) => answeredMs - sentMs);
    figures.requests = asked.length;
    figures.alone = asked.filter(({ isDegraded }) => isDegraded).length;
    figures.longestCallMs = Math.max(...calls);
    figures.longestGapMs = Math.max(...scene.open.map(({ key }) => longestGapMs(asked, key)));
    figures.mostInAMinute = Object.values(most);
    process.stdout.write(`${name}: ${JSON.stringify(figures)}\n`);

    // When they were sent, relative to the kill.
    const failedAt = asked.filter(({ outcome }) => outcome === 'failed').map(({ sentMs }) => sentMs - killedMs);
    expect(failedAt).toEqual([]);
    const openKeys = new Set(scene.open.map(({ key }) => key));
    expect(asked.filter(({ key, outcome }) => openKeys.has(key) && outcome === 'refused')).toEqual([]);
    expect(figures.longestGapMs).toBeLessThan(roomMs(5_000));
    for (const count of Object.values(most)) expect(count).toBeGreaterThanOrEqual(limit);
    for (const count of Object.values(most)) expect(count).toBeLessThanOrEqual(mostAllowed);
  });
});

/** Keys on all masters of a cluster: some whose limit is reached, and some whose limit never is. */
class Scene {
  readonly full = keysOf(limit, 6);
  readonly open = keysOf(1_000_000, 6);
  readonly #group: RedisGroup;
  readonly #asked: Asked[] = [];
  readonly #stop = new AbortController();
  readonly #load: Promise<void>;

  constructor(group: RedisGroup, processes: Limiters) {
    this.#group = group;
    this.#load = processes.load([...this.full, ...this.open], 50, this.#stop.signal, this.#asked);
  }

  admitted({ key }: LimitedKey): number {
    return this.#asked.filter((each) => each.key === key && each.outcome === 'admitted').length;
  }

  /** The time when every key was decided by Redis again, with a new master. */
  async untilBack(sinceMs: number, gone: { readonly port: number }): Promise<number> {
    const [{ key }] = this.full;
    const isReplaced = async () => (await this.#group.masterOf(key).catch(() => gone)).port !== gone.port;
    await expect.poll(isReplaced).toBe(true);
    const isBack = () => {
      const lastMs = Math.max(sinceMs, ...this.#asked.filter((each) => each.isDegraded).map((each) => each.answeredMs));
      return this.#asked.some(({ sentMs }) => sentMs > lastMs + 300);
    };
    await expect.poll(isBack).toBe(true);
    const alone = this.#asked.filter(({ isDegraded, sentMs }) => isDegraded && sentMs >= sinceMs);
    return Math.max(sinceMs, ...alone.map(({ answeredMs }) => answeredMs));
  }

  /** Ids of the requests of a key that were admitted within this many milliseconds. */
  admittedIds({ key }: LimitedKey, lastMs: number): readonly string[] {
    const sinceMs = Date.now() - lastMs;
    const isOne = (each: Asked) => each.key === key && each.outcome === 'admitted' && each.sentMs > sinceMs;
    return this.#asked.filter(isOne).map(({ requestId }) => requestId);
  }

  async end(): Promise<readonly Asked[]> {
    this.#stop.abort();
    await this.#load;
    return this.#asked;
  }
}

function keysOf(limitOfEach: number, count: number) {
  const keys = Array.from({ length: count }, () => ({ key: `tenant:${randomUUID()}`, limit: limitOfEach }));
  return keys as unknown as readonly [LimitedKey, ...LimitedKey[]];
}

/**
 * The new master's windows have all admissions before and during the failover: every request, by
 * its id.
 */
async function expectAllRecorded(scene: Scene, group: RedisGroup): Promise<void> {
  for (const limited of scene.full) {
    const find = () => group.masterOf(`rl:{${limited.key}}:m`);
    await expect.poll(() => find().then(() => 'found', String)).toBe('found');
    const master = await find();
    const entries = (await group.ask(master, 'ZRANGE', `rl:{${limited.key}}:m`, '0', '-1')).trim().split('\n');
    const missing = new Set(scene.admittedIds(limited, 50_000)).difference(new Set(entries));
    expect([...missing]).toEqual([]);
  }
}

async function replicasOf(group: RedisGroup, masterPort: number) {
  const roles = await Promise.all(
    group.servers.map(async (server) => ({ server, text: await group.ask(server, 'INFO', 'replication') })),
  );
  return roles.filter(({ text }) => text.includes(`master_port:${masterPort}`)).map(({ server }) => server);
}
