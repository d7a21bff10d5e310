import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CommandLine } from '../__fixtures__/command-line.ts';
import { readRequests } from '../shadow/requests.ts';

const answer: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"object":"list","data":[]}');
};

describe('gatewayctl shadow', () => {
  let folder: string;
  let servers: AsyncDisposableStack;
  const recording = () => join(folder, 'requests.jsonl');
  beforeEach(async () => {
    servers = new AsyncDisposableStack();
    folder = await mkdtemp(join(tmpdir(), 'gatewayctl-shadow-'));
    await writeFile(recording(), '{"path":"/v1/models"}\n{"path":"/v1/messages","body":{"model":"strong"}}\n');
  });
  afterEach(async () => {
    await servers.disposeAsync();
    await rm(folder, { recursive: true, force: true });
  });

  async function serve(listener: RequestListener): Promise<string> {
    const server = createServer(listener).listen(0, '127.0.0.1');
    servers.defer(() => {
      server.close();
      server.closeAllConnections();
    });
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  const keys = { SHADOW_FROM_KEY: 'key-of-the-other', GATEWAY_TOKEN: 'gw_s_own' };
  const run = (env: Readonly<Record<string, string>>, ...args: readonly string[]) =>
    new CommandLine(() => {}, env).run('shadow', '--requests', recording(), ...args);

  it('sends each request to both, each with its own key and its own name of the model', async () => {
    const seen: string[] = [];
    const listen =
      (name: string): RequestListener =>
      async (request, response) => {
        const { authorization, 'x-api-key': key } = request.headers;
        seen.push(`${name} ${request.method} ${request.url} ${authorization ?? key} ${await bodyOf(request)}`);
        answer(request, response);
      };
    const [from, to] = [await serve(listen('from')), await serve(listen('to'))];
    const names = ['--models', 'strong=gateway/strong'];
    const { exitCode, printed, notes } = await run(keys, '--from', `${from}/`, '--to', to, ...names);
    expect([exitCode, notes]).toEqual([0, '']);
    expect(seen.toSorted()).toEqual([
      'from GET /v1/models Bearer key-of-the-other ',
      'from POST /v1/messages key-of-the-other {"model":"strong"}',
      'to GET /v1/models Bearer gw_s_own ',
      'to POST /v1/messages gw_s_own {"model":"gateway/strong"}',
    ]);
    expect(printed).toMatch(/^line 1 +200 +alike/m);
    expect(printed).toContain('2 requests compared: 2 alike, 0 different.\n');
    expect(printed).not.toMatch(/key-of-the-other|gw_s_own/);
  });

  it('prints what differs, and exits with 1', async () => {
    const from = await serve(answer);
    const to = await serve((_request, response) => {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"code":"not_found"}}');
    });
    const text = await run(keys, '--from', from, '--to', to);
    expect(text).toMatchObject({ exitCode: 1, notes: 'gatewayctl: 2 of 2 answers differ.' });
    expect(text.printed).toContain('status: 200 from --from, 404 from --to\n');
    const { json } = await run(keys, '--from', from, '--to', to, '-o', 'json');
    expect(json()).toMatchObject({
      ...{ requests: 2, compared: 2, differing: 2 },
      results: [{ name: 'line 1', differs: true, from: { status: 200 }, to: { status: 404 } }, {}],
    });
    expect((await run(keys, '--from', from, '--to', to, '--ignore', 'status')).exitCode).toBe(0);
  });

  it('says that gateways failed alike', async () => {
    const url = await serve((_request, response) => response.writeHead(401).end());
    const { printed, exitCode } = await run(keys, '--from', url, '--to', url);
    expect(exitCode).toBe(0);
    expect(printed).toContain('2 alike, 0 different. 2 got an error from both.\n');
  });

  it('gives up an answer that does not end, and reports a gateway that is away', async () => {
    const from = await serve((_request, response) => void response.writeHead(200).write('{'));
    const gone = await serve((request) => request.socket.destroy());
    const { printed, exitCode } = await run(keys, '--from', from, '--to', gone, '--timeout', '1s');
    expect(exitCode).toBe(1);
    expect(printed).toContain('no answer of --from: no whole answer within 1 s\n');
    expect(printed).toMatch(/no answer of --to: \S+\n/);
  });

  it('follows no redirect, which would get the key', async () => {
    const stolen: (string | undefined)[] = [];
    const thief = await serve((request, response) => {
      stolen.push(request.headers.authorization);
      answer(request, response);
    });
    const from = await serve((_request, response) => response.writeHead(307, { location: `${thief}/v1` }).end());
    expect((await run(keys, '--from', from, '--to', await serve(answer))).exitCode).toBe(1);
    expect(stolen).toEqual([]);
  });

  it('runs at most as many requests at a time as it is told', async () => {
    await writeFile(recording(), '{"path":"/v1/models"}\n'.repeat(12));
    let [running, most] = [0, 0];
    const slow: RequestListener = (request, response) => {
      running += 1;
      most = Math.max(most, running);
      setImmediate(() => {
        running -= 1;
        answer(request, response);
      });
    };
    const [from, to] = [await serve(slow), await serve(answer)];
    expect((await run(keys, '--from', from, '--to', to, '--concurrency', '3')).printed).toContain(
      '12 requests compared',
    );
    expect(most).toBeLessThanOrEqual(3);
  });

  it('prints what was compared when it is stopped', async () => {
    const from = await serve((request, response) => {
      if (request.url === '/v1/models') answer(request, response);
      else process.emit('SIGINT');
    });
    const stopped = await run(keys, '--from', from, '--to', await serve(answer), '--concurrency', '1');
    expect(stopped).toMatchObject({ exitCode: 1, notes: expect.stringContaining('stopped before all requests') });
    expect(stopped.printed).toContain('no answer of --from: stopped');
    expect(process.listenerCount('SIGINT')).toBe(0);
  });

  it('prints its own requests as a recording', async () => {
    const { printed } = await new CommandLine(() => {}).run('shadow', '--print-requests');
    expect(readRequests(printed, 'requests.jsonl').map(({ name }) => name)).toContain('count-tokens');
  });

  it.each([
    ['no other gateway', keys, [], /--from/],
    ['no key of the other', { GATEWAY_TOKEN: 'x' }, ['--from', 'https://a'], /SHADOW_FROM_KEY is not set/],
    [
      'a key of two lines',
      { ...keys, SHADOW_FROM_KEY: 'sk-a\nsk-b' },
      ['--from', 'https://a'],
      /SHADOW_FROM_KEY has (?!.*sk-)/,
    ],
    ['no token', { SHADOW_FROM_KEY: 'x', HOME: '/nowhere' }, ['--from', 'https://a'], /GATEWAY_TOKEN/],
    ['a wrong pair of names', keys, ['--from', 'https://a', '--models', 'x'], /old=new/],
  ])('does nothing with %s', async (_what, env, args, expected) => {
    const { exitCode, notes } = await run(env, ...args);
    expect(exitCode).toBeGreaterThan(0);
    expect(notes).toMatch(expected);
  });
});

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of request) text += String(piece);
  return text;
}
