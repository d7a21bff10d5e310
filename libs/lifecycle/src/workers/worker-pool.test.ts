import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createLogger, Metrics } from '@gateway/telemetry';
import { OtlpReceiver } from '@gateway/telemetry/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createWorkerPool } from './worker-pool.ts';

const program = fileURLToPath(new URL('./__fixtures__/worker.ts', import.meta.url));

describe('workers of one port', () => {
  it('all serve on it, show their metrics by number, and end when the pool is disposed', async () => {
    const { pool, pids } = await start();
    expect(await pool.notReady()).toBeUndefined();
    const serving = await pids();
    expect(new Set(serving.values()).size).toBe(2);
    const answered = new Set<number>();
    await expect.poll(async () => answered.add(await ask(pool.port)).size).toBe(2);
    expect([...answered].toSorted()).toEqual([...serving.values()].toSorted());
    await pool[Symbol.asyncDispose]();
    for (const pid of answered) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  it('are replaced when they die', async () => {
    const { pids } = await start();
    const before = await pids();
    process.kill(before.get('1') ?? 0, 'SIGKILL');
    await expect.poll(async () => (await pids()).get('1')).not.toBe(before.get('1'));
    await expect.poll(async () => (await pids()).size).toBe(2);
    expect((await pids()).get('2')).toBe(before.get('2'));
  });

  it('learn that a drain is coming, and serve on', async () => {
    const { pool } = await start();
    pool.announceDrain?.();
    const isLeaving = async () => (await fetch(`http://127.0.0.1:${pool.port}/`)).headers.get('leaving');
    await expect
      .poll(async () => [await isLeaving(), await isLeaving(), await isLeaving()])
      .toEqual(['true', 'true', 'true']);
    expect(await pool.notReady()).toBeUndefined();
  });

  it('send their last spans before they end', async () => {
    await using receiver = await OtlpReceiver.listen();
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', receiver.url);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { pool } = await start();
    await ask(pool.port);
    expect(receiver.spans).toEqual([]);
    await pool[Symbol.asyncDispose]();
    expect(receiver.spans).toMatchObject([{ service: 'test', name: 'GET' }]);
  });

  it('show the metrics of the others when one hangs', async () => {
    const { pids } = await start();
    const hanging = (await pids()).get('1') ?? 0;
    process.kill(hanging, 'SIGSTOP');
    onTestFinished(() => void process.kill(hanging, 'SIGCONT'));
    expect([...(await pids()).keys()]).toEqual(['2']);
  });

  it('do not start when one of them cannot, and say why in its words', async () => {
    await expect(start(['broken'])).rejects.toThrow("test can't start: the disk is full");
  });

  it('do not start on a port that another process listens on', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await expect(start([], port)).rejects.toThrow('EADDRINUSE');
  });
});

async function start(args: readonly string[] = [], port = 0) {
  const metrics = new Metrics();
  const runtime = { logger: createLogger('test', 'silent'), metrics };
  const pool = createWorkerPool({ program, args, count: 2, host: '127.0.0.1', port }, runtime);
  onTestFinished(() => pool[Symbol.asyncDispose]());
  await pool.start();
  const pids = async () => {
    const samples = (await metrics.exposition()).matchAll(/^pid\{worker="(\d)"\} (\d+)$/gm);
    return new Map([...samples].map(([, worker = '', pid]) => [worker, Number(pid)]));
  };
  return { pool, pids };
}

async function ask(port: number): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}`, { headers: { connection: 'close' } });
  return Number(await response.text());
}
