import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultScript } from '@gateway/simulator';
import { roomMs } from '@gateway/testkit/room';
import { chat } from '../client/chat.ts';
import { head, RawConnection } from '../client/raw-http.ts';
import { countBody, messagesBody, relay, relayHeaders, responsesBody } from '../client/relay.ts';
import { issueToken, revokeToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

/**
 * The gateway's data that traffic needs. Its gateway.yaml is that of `writeObservedGatewayFile`.
 */
export type TrafficTarget = Topology & { readonly gatewayFile: string };

/** One round of everything that happens to a gateway in a week. Each scene returns its results. */
export async function mixedTraffic(gateway: TrafficTarget): Promise<ReadonlyMap<string, unknown>> {
  const token = (await issueToken(gateway, { requestsPerMinute: 100_000, tokensPerDay: 1_000_000_000 })).text;
  const met = await Promise.all(
    Object.entries(scenes).map(async ([name, scene]) => [name, await scene(gateway, token).catch(String)] as const),
  );
  return new Map(met);
}

type Scene = (gateway: TrafficTarget, token: string) => Promise<unknown>;

const scenes: Readonly<Record<string, Scene>> = {
  answers: (gateway, token) =>
    statuses([
      chat(gateway, token, { model: 'gateway/responses' }),
      chat(gateway, token, { model: 'gateway/responses', stream: true, messages: user('#long 200') }),
      chat(gateway, token, { model: 'gateway/messages' }),
      chat(gateway, token, {
        model: 'gateway/messages',
        stream: true,
        messages: user('#cached 7 #written 3 #long 200'),
      }),
      messages(gateway, token, messagesBody(models.messages, '#cached 7 #written 3 hello')),
      messages(gateway, token, messagesBody(models.messages, '#long 200', { stream: true })),
      relay(gateway, token, { path: '/v1/responses', body: responsesBody(models.responses, 'hello') }),
      relay(gateway, token, { path: '/v1/messages/count_tokens', body: countBody(models.messages, 'hello') }),
      get(gateway, token, '/v1/models'),
      get(gateway, token, '/v1/usage'),
    ]),

  refusals: (gateway, token) =>
    statuses([
      chat(gateway, 'no-token', { model: 'gateway/responses' }),
      chat(gateway, token, { model: 'gateway/responses', messages: [] }),
      chat(gateway, token, { model: 'gateway/unheard-of' }),
      relay(gateway, token, { path: '/v1/messages', body: '{' }),
      relay(gateway, token, { path: '/v1/messages', body: 'x', headers: { 'content-encoding': 'unheard-of' } }),
      get(gateway, token, '/v1/unheard-of'),
      get(gateway, token, '/v1/messages'),
      tooLarge(gateway, token),
    ]),

  async limits(gateway) {
    const [perMinute, perDay, revoked] = await Promise.all([
      issueToken(gateway, { requestsPerMinute: 1 }),
      issueToken(gateway, { tokensPerDay: 3 }),
      issueToken(gateway),
    ]);
    await revokeToken(gateway, revoked.tokenId);
    const once = [perMinute, perDay, revoked].map(
      ({ text }) =>
        () =>
          chat(gateway, text, { model: 'gateway/messages' }),
    );
    await statuses(once.map((ask) => ask()));
    return statuses(once.map((ask) => ask()));
  },

  limited: (gateway, token) =>
    withFaults(gateway, limitedFor(['limited-a', 'limited-b'], 2, 1), () =>
      statuses([1, 2, 3].map(() => chat(gateway, token, { model: 'gateway/limited' }))),
    ),

  /** `either` continues with another pool; the class of the single pool can't. */
  exhausted: (gateway, token) =>
    withFaults(gateway, limitedFor(['exhausted-a'], 20), async () => {
      const first = await statuses([chat(gateway, token, { model: 'gateway/either' })]);
      const more = Array.from({ length: 6 }, () => chat(gateway, token, { model: 'gateway/exhausted' }));
      return [...first, ...(await statuses(more))];
    }),

  overloaded: (gateway, token) =>
    withFaults(gateway, [{ account: 'overloaded-a', times: 2, fault: { preset: 'overloaded' } }], () =>
      statuses([1, 2, 3].map(() => chat(gateway, token, { model: 'gateway/overloaded', stream: true }))),
    ),

  /**
   * Its account stays out of service, as in production. It is random which account gets a request.
   */
  revoked: (gateway, token) =>
    withFaults(gateway, [{ account: 'revoked-a', fault: { preset: 'unauthorized' } }], async () => {
      const met: number[] = [];
      do met.push(...(await statuses([1, 2, 3, 4].map(() => chat(gateway, token, { model: 'gateway/revoked' })))));
      while (gateway.simulator.requests({ account: 'revoked-a' }).length === 0 && met.length < 100);
      return met;
    }),

  broken: (gateway, token) =>
    withFaults(
      gateway,
      [
        { account: 'draining-a', times: 1, fault: { kind: 'reset', afterEvents: 3 } },
        { account: 'draining-a', times: 1, fault: { kind: 'unknown_events' } },
        { account: 'draining-a', times: 1, fault: { kind: 'status', status: 500 } },
      ],
      () => statuses([1, 2, 3].map(() => chat(gateway, token, { model: 'gateway/draining', stream: true }))),
    ),

  /** The answers report that little is left of a window that has just begun. */
  async 'running dry'(gateway, token) {
    const reset = Math.ceil(Date.now() / 1_000) + 4.5 * 3_600;
    const met: unknown[] = [];
    for (const used of ['0.90', '0.93', '0.96']) {
      const headers = {
        'anthropic-ratelimit-unified-status': 'allowed',
        'anthropic-ratelimit-unified-5h-status': 'allowed',
        'anthropic-ratelimit-unified-5h-reset': String(reset),
        'anthropic-ratelimit-unified-5h-utilization': used,
      };
      const fault = { account: 'running-dry-a', times: 1, fault: { kind: 'headers', headers } } as const;
      met.push(
        ...(await withFaults(gateway, [fault], () =>
          statuses([chat(gateway, token, { model: 'gateway/running-dry' })]),
        )),
      );
    }
    return met;
  },

  amended(gateway, token) {
    const { input } = responsesBody(models.responses, 'go on');
    const encrypted = { type: 'reasoning', summary: [], encrypted_content: `gAAAAA${'x'.repeat(100)}` };
    const body = { model: models.responses, input: [encrypted, ...input] };
    return statuses([relay(gateway, token, { path: '/v1/responses', body })]);
  },

  refreshed: (gateway, token) => statuses([chat(gateway, token, { model: 'gateway/granted' })]),

  /** Clients that hang up in the middle of a slow stream. */
  'hang-ups': (gateway, token) =>
    withFaults(
      gateway,
      ['a', 'b'].map((letter) => ({
        account: `traced-${letter}`,
        forSeconds: 2,
        fault: { kind: 'delay', betweenEventsMs: 20 },
      })),
      async () => {
        const controller = new AbortController();
        const response = await fetch(`${gateway.baseUrl}/v1/chat/completions`, {
          method: 'POST',
          headers: relayHeaders(token, '/v1/responses'),
          body: JSON.stringify({ model: 'gateway/traced', stream: true, messages: user('#long 2000') }),
          signal: controller.signal,
        });
        await response.body?.getReader().read();
        controller.abort();
        return response.status;
      },
    ),

  'admin port': async (gateway) => {
    using connection = new RawConnection({ baseUrl: gateway.adminUrl });
    const headers = { host: 'evil.example', 'content-type': 'application/json', 'content-length': '2' };
    return (await connection.send(`${head('POST /any', headers)}{}`).answer()).status;
  },

  /** Changes the file to another text, to an invalid one, and back. */
  async reload({ gatewayFile }) {
    const text = await readFile(gatewayFile, 'utf8');
    for (const next of [`${text}# read again\n`, 'pools: 7\n', text]) {
      await writeFile(gatewayFile, next);
      // The broker checks four times a second, and waits for the end of a write.
      await sleep(roomMs(1_000));
    }
  },
};

const models = { responses: 'gpt-5.5', messages: 'claude-sonnet-5' } as const;

function user(content: string) {
  return [{ role: 'user', content }];
}

function messages(gateway: Topology, token: string, body: object) {
  return relay(gateway, token, { path: '/v1/messages', body });
}

function get({ baseUrl }: Topology, token: string, path: string) {
  return fetch(`${baseUrl}${path}`, { headers: { authorization: `Bearer ${token}` } });
}

async function tooLarge({ baseUrl }: Topology, token: string) {
  using connection = new RawConnection({ baseUrl });
  const headers = { host: 'localhost', 'x-api-key': token, 'content-type': 'application/json' };
  return await connection.send(head('POST /v1/messages', { ...headers, 'content-length': '100000000' })).answer();
}

async function statuses(answers: readonly Promise<{ readonly status: number }>[]): Promise<readonly number[]> {
  return (await Promise.all(answers)).map(({ status }) => status);
}

function limitedFor(accounts: readonly string[], resetAfterSeconds: number, times?: number): readonly FaultScript[] {
  return accounts.map((account) => ({
    account,
    ...(times !== undefined && { times }),
    fault: { preset: 'rate_limited_retry_after', resetAfterSeconds },
  }));
}

async function withFaults<T>(
  { simulator }: Topology,
  scripts: readonly FaultScript[],
  work: () => Promise<T>,
): Promise<T> {
  const ids = scripts.map((script) => simulator.faults.add(script));
  try {
    return await work();
  } finally {
    for (const id of ids) simulator.faults.clear(id);
  }
}
