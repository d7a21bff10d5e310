import { setTimeout as sleep } from 'node:timers/promises';
import type { ReceivedSpan } from '@gateway/telemetry/testing';
import { roomMs } from '@gateway/testkit/room';
import { beforeAll, describe, expect, it } from 'vitest';
import { type ChatAnswer, chat } from '../client/chat.ts';
import { relay, responsesBody } from '../client/relay.ts';
import { issueToken } from '../client/tokens.ts';
import type { TrafficTarget } from '../observability/mixed-traffic.ts';
import type { ObservedGateway } from '../observability/observed-gateway.ts';
import { clientSpan, SpanTree } from '../observability/span-tree.ts';

interface Wiring<T> {
  /** Whether parts are processes that call each other. */
  readonly areServices: boolean;
  /** The gateway's log. */
  readonly logs: (gateway: T) => string;
}

/**
 * The trace of a request that fails over from one account to another, from the client to the
 * ledger.
 */
export function requestSpansBehaviour<T extends TrafficTarget>(
  observed: () => ObservedGateway<T>,
  { areServices, logs }: Wiring<T>,
): void {
  describe('the trace of a request that moves to another account', () => {
    const client = clientSpan();
    const prompt = 'a prompt that nobody else may read';
    let token = { tokenId: '', text: '' };
    let answer: ChatAnswer;
    let tree: SpanTree;

    beforeAll(async () => {
      const { gateway, receiver } = observed();
      token = await issueToken(gateway, { requestsPerMinute: 1_000, tokensPerDay: 1_000_000 });
      const fault = { preset: 'rate_limited_retry_after', resetAfterSeconds: 1 } as const;
      gateway.simulator.faults.add({ model: 'gpt-5.5', times: 1, fault });
      const body = { model: 'gateway/traced', stream: true, messages: [{ role: 'user', content: prompt }] };
      answer = await chat(gateway, token.text, body, { headers: { traceparent: client.traceparent } });
      const isOfIt = ({ traceId, links }: ReceivedSpan) =>
        traceId === client.traceId || links.some((link) => link.traceId === client.traceId);
      const awaited = areServices ? [/^POST /, /^publish /, /^process /] : [/^POST /];
      const has = (spans: readonly ReceivedSpan[], name: RegExp) =>
        spans.some((span) => isOfIt(span) && name.test(span.name));
      await receiver.until((spans) => awaited.every((name) => has(spans, name)));
      // Each process sends its spans by itself.
      await sleep(roomMs(500));
      tree = new SpanTree(receiver.spans, client.traceId);
    });

    const rootOf = () => {
      const [root, ...others] = tree.spans.filter(({ parentSpanId }) => parentSpanId === client.spanId);
      expect(others, tree.text).toEqual([]);
      return root ?? expect.fail(`no span continues the client's: ${tree.text}`);
    };

    it("is the client's, and every span of it has its parent in it", () => {
      expect(answer.status, answer.text).toBe(200);
      const known = new Set([client.spanId, ...tree.spans.map(({ spanId }) => spanId)]);
      const lost = tree.spans.filter(({ parentSpanId = '', kind }) => !known.has(parentSpanId) && kind !== 'consumer');
      expect(lost, tree.text).toEqual([]);
      expect(rootOf()).toMatchObject({
        service: areServices ? 'edge-router' : 'gateway',
        name: 'POST /v1/chat/completions',
        kind: 'server',
        attributes: {
          'http.request.method': 'POST',
          'http.route': '/v1/chat/completions',
          'http.response.status_code': 200,
          'url.path': '/v1/chat/completions',
        },
      });
    });

    it('has its admission, the choice of an account for each attempt, both attempts and the settling', () => {
      const root = rootOf();
      const names = tree.within(root).map(({ name }) => name);
      expect(names, tree.text).toEqual(expect.arrayContaining(['admit', 'acquire', 'settle']));
      const attempts = tree.within(root, tree.named('attempt'));
      expect(
        attempts.map(({ attributes }) => attributes),
        tree.text,
      ).toMatchObject([
        { 'gateway.pool': 'traced', 'gateway.attempt.result': 'rate_limited' },
        { 'gateway.pool': 'traced', 'gateway.attempt.result': 'succeeded' },
      ]);
      const accounts = attempts.map(({ attributes }) => attributes['gateway.account']);
      expect(new Set(accounts).size, tree.text).toBe(2);
      expect(tree.named('acquire').length, tree.text).toBeGreaterThanOrEqual(2);
    });

    it("has a span of GenAI's conventions for each call of a provider, and usage where there was an answer", () => {
      const calls = tree.within(rootOf(), tree.named('chat gpt-5.5')).filter(({ kind }) => kind === 'client');
      expect(calls, tree.text).toHaveLength(2);
      for (const call of calls) {
        expect(
          tree.above(call).map(({ name }) => name),
          tree.text,
        ).toContain('attempt');
        expect(call.attributes).toMatchObject({
          'gen_ai.operation.name': 'chat',
          'gen_ai.provider.name': 'openai',
          'gen_ai.request.model': 'gpt-5.5',
          'server.address': '127.0.0.1',
        });
      }
      const [refused, answered] = calls;
      expect(refused?.error ?? refused?.attributes['error.type'], tree.text).toBeDefined();
      expect(answered?.attributes, tree.text).toMatchObject({
        'gen_ai.response.model': expect.stringContaining('gpt-5.5'),
        'gen_ai.usage.input_tokens': expect.any(Number),
        'gen_ai.usage.output_tokens': expect.any(Number),
        'gen_ai.response.finish_reasons': expect.any(Array),
      });
      const events = tree.spans.flatMap((span) => span.events.map(({ name }) => name));
      expect(events, tree.text).toContain('gen_ai.first_token');
    });

    it.runIf(areServices)('has a span on both sides of every call between services', () => {
      const served = tree.spans.filter(({ kind, attributes }) => kind === 'server' && attributes['rpc.method']);
      expect(
        served.map(({ service }) => service),
        tree.text,
      ).toEqual(expect.arrayContaining(['limiter', 'pool-broker', 'responses-adapter']));
      for (const call of served) {
        expect(call.attributes).toMatchObject({
          'rpc.system.name': 'grpc',
          'rpc.response.status_code': expect.any(String),
        });
        const caller = tree.parentOf(call);
        expect(caller, tree.text).toMatchObject({ kind: 'client', name: call.name });
        expect(caller?.service).not.toBe(call.service);
      }
    });

    it('shows no failure but that of the first attempt', () => {
      const [first, second] = tree.within(rootOf(), tree.named('attempt'));
      if (first === undefined || second === undefined) throw new Error(tree.text);
      const hasFailed = ({ error, attributes }: ReceivedSpan) => error !== undefined || 'error.type' in attributes;
      expect([first, ...tree.within(first)].filter(hasFailed), tree.text).not.toEqual([]);
      const ofFirst = new Set([first, ...tree.within(first)]);
      expect(
        tree.spans.filter((span) => hasFailed(span) && !ofFirst.has(span)).map(({ name }) => name),
        tree.text,
      ).toEqual([]);
    });

    it.runIf(areServices)('leads to the ledger: publishing and storing its usage', () => {
      const publish = tree.named(/^publish /);
      expect(publish, tree.text).not.toEqual([]);
      const ids = new Set(tree.spans.map(({ spanId }) => spanId));
      const stored = observed().receiver.spans.filter(
        ({ name, links, parentSpanId = '' }) =>
          name.startsWith('process ') && (ids.has(parentSpanId) || links.some(({ spanId }) => ids.has(spanId))),
      );
      expect(stored, tree.text).not.toEqual([]);
      expect(stored.map(({ service, kind }) => [service, kind])).toContainEqual(['usage-ingest', 'consumer']);
      for (const span of [...publish, ...stored]) expect(span.attributes).toMatchObject({ 'messaging.system': 'nats' });
    });

    it('contains no prompt, answer, token or key', () => {
      const text = JSON.stringify(observed().receiver.spans);
      expect(text).toContain(client.traceId);
      const said = [...answer.text.matchAll(/"content":"([^"]{12,})"/g)].map(([, piece = '']) => piece);
      const credentials = ['a', 'b'].map((letter) => `traced-${letter}`);
      const secrets = [prompt, token.text, token.text.slice(-20), token.tokenId, ...said, ...credentials];
      expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
    });

    it('is named in the log lines of its request, with the id that the client got', async () => {
      const { gateway } = observed();
      const { traceId, traceparent } = clientSpan();
      const { input } = responsesBody('gpt-5.5', 'go on');
      const encrypted = { type: 'reasoning', summary: [], encrypted_content: `gAAAAA${'x'.repeat(100)}` };
      const { status, headers } = await relay(gateway, token.text, {
        path: '/v1/responses',
        body: { model: 'gpt-5.5', input: [encrypted, ...input] },
        headers: { traceparent },
      });
      expect(status).toBe(200);
      const lines = () => linesOf(logs(gateway)).filter(({ trace_id }) => trace_id === traceId);
      await expect.poll(lines).not.toEqual([]);
      for (const line of lines()) {
        expect(line).toMatchObject({
          request_id: headers.get('x-request-id'),
          span_id: expect.stringMatching(/^[0-9a-f]{16}$/),
        });
      }
    });

    it("is sampled although its client's trace is not: the gateway decides", async () => {
      const { gateway, receiver } = observed();
      const unsampled = clientSpan({ isSampled: false });
      const { traceparent } = unsampled;
      const answered = await chat(gateway, token.text, { model: 'gateway/traced' }, { headers: { traceparent } });
      expect(answered.status).toBe(200);
      const ofIt = () => new SpanTree(receiver.spans, unsampled.traceId);
      await receiver.until((spans) => {
        const names = spans.filter(({ traceId }) => traceId === unsampled.traceId).map(({ name }) => name);
        return ['POST /v1/chat/completions', 'admit', 'attempt', 'settle'].every((name) => names.includes(name));
      });
      const [root] = ofIt().named('POST /v1/chat/completions');
      expect(root?.parentSpanId, ofIt().text).toBe(unsampled.spanId);
    });
  });
}

/** Lines of services begin with their names. */
function linesOf(log: string): readonly Readonly<Record<string, unknown>>[] {
  return log.split('\n').flatMap((line) => {
    const begin = line.indexOf('{');
    try {
      return begin === -1 ? [] : [JSON.parse(line.slice(begin))];
    } catch {
      return [];
    }
  });
}
