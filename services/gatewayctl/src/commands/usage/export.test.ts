import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, get, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CommandLine } from '../../__fixtures__/command-line.ts';

const rows = 'local_day,requests\n2026-11-02,2\n2026-11-03,1\n';
const november = ['--from', '2026-11-01', '--to', '2026-11-30'];

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'export-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Runs `usage export` against a gateway with this answer. */
async function exportFrom(answer: RequestListener, ...args: readonly string[]) {
  await using stack = new AsyncDisposableStack();
  const asked: URL[] = [];
  const server = stack.use(
    createServer((request, response) => {
      asked.push(new URL(request.url ?? '', url));
      answer(request, response);
    }),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const gateway = {
    url,
    get: async (path: string) => ((await once(get(new URL(path, url)), 'response')) as [IncomingMessage])[0],
  };
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  stack.defer(() => said.mockRestore());
  const ran = await new CommandLine(() => undefined, {}, gateway).run('usage', 'export', ...november, ...args);
  return { ...ran, asked, said: said.mock.calls.map(([text]) => String(text)).join('') };
}

describe('gatewayctl usage export', () => {
  it('writes all rows of a period to a file, as they come, and says how many there were', async () => {
    const file = join(folder, 'november.csv');
    const { exitCode, asked, said } = await exportFrom(
      async (_request, response) => {
        response.write(rows.slice(0, 25));
        await sleep(20);
        response.end(rows.slice(25));
      },
      ...['--file', file, '--model', 'gpt-5.5'],
    );
    expect(exitCode).toBe(0);
    expect(await readFile(file, 'utf8')).toBe(rows);
    expect(await readdir(folder)).toEqual(['november.csv']);
    expect(said).toMatch(/^2 rows, /m);
    expect(asked.map(({ pathname }) => pathname)).toEqual(['/export/usage']);
    expect(Object.fromEntries(asked[0]?.searchParams ?? [])).toEqual({
      ...{ first_day: '2026-11-01', last_day: '2026-11-30', grouping: 'all', model: 'gpt-5.5', format: 'csv' },
    });
  });

  it('asks for charges with --format focus, and for the tokens of a group with --group', async () => {
    const focus = await exportFrom((_request, response) => response.end('a\r\n1\r\n2\r\n'), '--format', 'focus');
    expect(Object.fromEntries(focus.asked[0]?.searchParams ?? [])).toMatchObject({ grouping: 'all', format: 'focus' });
    expect(focus.said).toMatch(/^2 rows, /m);
    const { asked } = await exportFrom((_request, response) => response.end(''), '--group', 'g1');
    expect(Object.fromEntries(asked[0]?.searchParams ?? [])).toMatchObject({ grouping: 'token', group_id: 'g1' });
  });

  it('asks for the rows of the request log with --what requests', async () => {
    const file = join(folder, 'requests.ndjson');
    const { asked, said } = await exportFrom(
      (_request, response) => response.end('{}\n{}\n{}\n'),
      ...['--what', 'requests', '--format', 'ndjson', '--file', file],
    );
    expect(asked.map(({ pathname }) => pathname)).toEqual(['/export/requests']);
    expect(asked[0]?.searchParams.get('format')).toBe('ndjson');
    expect(said).toMatch(/^3 rows, /m);
  });

  it('leaves the file as it was when the gateway breaks off', async () => {
    const file = join(folder, 'november.csv');
    await writeFile(file, 'of last time');
    const { exitCode } = await exportFrom(
      (_request, response) => {
        response.write(rows.slice(0, 25));
        setTimeout(() => response.destroy(), 20);
      },
      ...['--file', file],
    );
    expect(exitCode).not.toBe(0);
    expect(await readFile(file, 'utf8')).toBe('of last time');
    expect(await readdir(folder)).toEqual(['november.csv']);
  });

  it('reports problems of the parameters, and a missing role', async () => {
    const refused = await exportFrom((_request, response) => {
      const fields = [{ field: 'first_day', text: 'is after the last day.' }];
      response.writeHead(400).end(JSON.stringify({ fields }));
    });
    expect(refused.exitCode).not.toBe(0);
    expect(refused.notes).toContain('first_day: is after the last day.');
    const forbidden = await exportFrom((_request, response) => response.writeHead(403).end());
    expect(forbidden.notes).toContain('permission denied.');
    const broken = await exportFrom((_request, response) => response.writeHead(500).end('oops'));
    expect(broken.notes).toContain('the gateway responded with 500.');
  });
});
