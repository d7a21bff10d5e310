import { setTimeout as sleep } from 'node:timers/promises';
import { OtlpReceiver } from '@gateway/telemetry/testing';
import { roomMs } from '@gateway/testkit/room';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { issueToken } from '../client/tokens.ts';
import { familiesOf, readExposition } from '../observability/exposition.ts';
import { tracingSettings } from '../observability/observed-gateway.ts';
import { clientSpan, SpanTree } from '../observability/span-tree.ts';
import { type AllInOneTopology, startAllInOne } from '../topologies/all-in-one.ts';

interface TracedGateway {
  readonly gateway: AllInOneTopology;
  readonly receiver: OtlpReceiver;
  readonly ask: (traceparent?: string) => Promise<number>;
}

function traced(env: Readonly<Record<string, string>>): () => TracedGateway {
  const stack = new AsyncDisposableStack();
  let started: TracedGateway | undefined;
  beforeAll(async () => {
    const receiver = stack.use(await OtlpReceiver.listen());
    const settings = { ...tracingSettings(receiver.url), LOG_LEVEL: 'warn' };
    const gateway = stack.use(await startAllInOne('traced', { ...settings, ...env }));
    const { text } = await issueToken(gateway, { kind: 'personal' });
    const ask = async (traceparent?: string) => {
      const headers: Record<string, string> = traceparent === undefined ? {} : { traceparent };
      return (await chat(gateway, text, { model: 'gateway/claude', stream: true }, { headers })).status;
    };
    started = { gateway, receiver, ask };
  });
  afterAll(() => stack.disposeAsync());
  return () => started ?? expect.fail('the gateway has not started');
}

describe('a gateway with OTEL_TRACES_SAMPLER=parentbased_always_off', () => {
  const of = traced({ OTEL_TRACES_SAMPLER: 'parentbased_always_off' });

  it('has no spans, whatever clients want, with a token and without', async () => {
    const { ask, gateway, receiver } = of();
    const { traceparent } = clientSpan();
    expect(await ask(traceparent)).toBe(200);
    const refused = await fetch(`${gateway.baseUrl}/v1/models`, { headers: { traceparent } });
    expect([refused.status, await refused.json()]).toMatchObject([401, { error: { code: 'unauthorized' } }]);
    await sleep(roomMs(500));
    expect(receiver.spans).toEqual([]);
  });
});

describe('a gateway with OTEL_TRACES_SAMPLER=parentbased_always_off that trusts clients', () => {
  const of = traced({ OTEL_TRACES_SAMPLER: 'parentbased_always_off', TRUST_CLIENT_SAMPLING: 'true' });

  it('has no spans but of requests whose client wants them', async () => {
    const { ask, receiver } = of();
    const wanted = clientSpan();
    expect(await Promise.all([ask(), ask(), ask(wanted.traceparent), ask()])).toEqual([200, 200, 200, 200]);
    await receiver.until((spans) => spans.some(({ kind }) => kind === 'server'));
    await sleep(roomMs(500));
    expect(receiver.spans.map(({ traceId }) => traceId)).toEqual(receiver.spans.map(() => wanted.traceId));
    expect(new SpanTree(receiver.spans, wanted.traceId).named('POST /v1/chat/completions')).toHaveLength(1);
  });
});

describe('a gateway without an endpoint', () => {
  let gateway: AllInOneTopology | undefined;
  beforeAll(async () => {
    gateway = await startAllInOne('untraced');
  });
  afterAll(() => gateway?.[Symbol.asyncDispose]());

  it('counts no spans, and its log lines name no trace', async () => {
    if (gateway === undefined) throw new Error('the gateway has not started');
    const { text } = await issueToken(gateway, { kind: 'personal' });
    const { traceparent } = clientSpan();
    expect((await chat(gateway, text, { model: 'gateway/claude' }, { headers: { traceparent } })).status).toBe(200);
    expect(await readExposition(gateway.adminUrl)).not.toContain('gateway_trace_spans');
    expect(gateway.command.stderr()).not.toContain('trace_id');
  });
});

describe('an endpoint for spans that is no good', () => {
  const of = traced({
    OTEL_BSP_MAX_QUEUE_SIZE: '32',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '16',
    OTEL_BSP_EXPORT_TIMEOUT: '500',
    OTEL_EXPORTER_OTLP_TIMEOUT: '500',
  });
  const dropped = async (reason: string) => {
    const families = familiesOf(await readExposition(of().gateway.adminUrl));
    const series = families.get('gateway_trace_spans_dropped_total')?.series ?? [];
    return series.find(({ labels }) => labels.reason === reason)?.value ?? Number.NaN;
  };
  const allDropped = async () => (await dropped('export_failed')) + (await dropped('queue_full'));
  const warnings = () => {
    const lines = of().gateway.command.stderr().split('\n');
    return lines.filter((line) => line.includes('spans could not be exported')).length;
  };
  const many = () => Promise.all(Array.from({ length: 40 }, () => of().ask()));

  it.each(['never', 'nonsense', 503, 'away'] as const)('(%s) affects no request', async (answer) => {
    const { receiver } = of();
    if (answer === 'away') await receiver[Symbol.asyncDispose]();
    else receiver.answer = answer;
    const before = await allDropped();
    expect(new Set(await many())).toEqual(new Set([200]));
    if (answer !== 'nonsense') await expect.poll(allDropped).toBeGreaterThan(before);
  });

  it('is in the log once for all failures in a row', async () => {
    // It has been away for a while: no earlier span is in transit.
    const failAgain = async () => {
      const before = await dropped('export_failed');
      await many();
      await expect.poll(() => dropped('export_failed')).toBeGreaterThan(before);
    };
    await failAgain();
    const before = warnings();
    expect(before).toBeGreaterThan(0);
    await failAgain();
    await failAgain();
    expect(warnings()).toBe(before);
  });

  it('does not keep the gateway from ending', async () => {
    const { command } = of().gateway;
    command.kill('SIGTERM');
    expect((await command.ended).exitCode).toBe(0);
  });
});
