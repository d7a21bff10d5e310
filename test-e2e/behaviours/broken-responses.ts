import type { FaultScript } from '@gateway/simulator';
import type OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { relay, responsesBody } from '../client/relay.ts';
import { openAiClient } from '../client/sdk-clients.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

interface ResponsesEvent {
  readonly type: string;
  readonly sequence_number?: number;
  readonly response?: { readonly id: string; readonly created_at: number; readonly model: string };
}

const model = 'gpt-broken';
/** Slow enough that the client's answer has begun before it breaks off. */
const slowly = { kind: 'delay', betweenEventsMs: 20 } as const;

/** The gateway's last event of a `/v1/responses` stream that its provider did not end. */
export function brokenResponsesBehaviour(gateway: () => Topology): void {
  describe('the response.failed of a broken Responses stream', () => {
    let token = '';
    beforeAll(async () => {
      token = (await issueToken(gateway(), { kind: 'personal' })).text;
    });

    const script = (...faults: readonly FaultScript['fault'][]) => {
      for (const fault of faults) gateway().simulator.faults.add({ model, times: 1, fault });
    };
    const ask = async (...faults: readonly FaultScript['fault'][]) => {
      script(...faults);
      const { status, text } = await relay(gateway(), token, {
        path: '/v1/responses',
        body: responsesBody(model, '#long 60'),
      });
      expect(status).toBe(200);
      return responsesEventsOf(text);
    };

    it.each([
      ['breaks off', [{ kind: 'reset', afterEvents: 12 }]],
      ['ends too early', [{ kind: 'end', afterEvents: 12 }]],
      ['comes in pieces of a few bytes', [{ kind: 'split_utf8' }, { kind: 'end', afterEvents: 12 }]],
      [
        'has events that say nothing between the others',
        [{ kind: 'unknown_events' }, { kind: 'end', afterEvents: 12 }],
      ],
    ] as const)('continues the response of a stream that %s', async (_what, faults) => {
      const events = await ask(slowly, ...faults);
      const last = events.at(-1);
      expect(last?.type).toBe('response.failed');
      const created = events[0]?.response;
      expect(last?.response).toMatchObject({
        id: created?.id,
        created_at: created?.created_at,
        model: created?.model,
        status: 'failed',
        error: { code: expect.any(String), message: expect.any(String) },
      });
      const numbers = events.flatMap(({ sequence_number: number }) => number ?? []);
      expect(numbers).toEqual(numbers.map((_, index) => index));
      expect(numbers).toHaveLength(13);
    });

    it('begins at 0 in a stream without numbers', async () => {
      const events = await ask(slowly, { kind: 'unnumbered_events' }, { kind: 'reset', afterEvents: 12 });
      expect(events.flatMap(({ sequence_number: number }) => number ?? [])).toEqual([0]);
      expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: { id: events[0]?.response?.id } });
    });

    it('is not needed when nothing but response.created came: another account answers', async () => {
      const events = await ask({ kind: 'reset', afterEvents: 1 });
      expect(events.at(-1)?.type).toBe('response.completed');
      const numbers = events.map(({ sequence_number: number }) => number);
      expect(numbers).toEqual(numbers.map((_, index) => index));
      expect(new Set(events.flatMap(({ response }) => response?.id ?? [])).size).toBe(1);
    });

    it('is read by the stream of the openai package as the end of that response', async () => {
      script(slowly, { kind: 'reset', afterEvents: 12 });
      const stream = await openAiClient(gateway(), token).responses.create({
        model,
        input: [{ role: 'user', content: '#long 60' }],
        stream: true,
      });
      const events: OpenAI.Responses.ResponseStreamEvent[] = [];
      for await (const event of stream) events.push(event);
      const [first] = events;
      const last = events.at(-1);
      if (first?.type !== 'response.created' || last?.type !== 'response.failed') throw new Error('it did not fail');
      expect(last.response.id).toBe(first.response.id);
      expect(last.sequence_number).toBe(events.length - 1);
      expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
    });

    it('leaves the stream helper of the openai package with the failed response', async () => {
      script(slowly, { kind: 'reset', afterEvents: 12 });
      const stream = openAiClient(gateway(), token).responses.stream({
        model,
        input: [{ role: 'user', content: '#long 60' }],
      });
      const ids: string[] = [];
      stream.on('response.created', ({ response }) => ids.push(response.id));
      const failed: { id: string; number: number }[] = [];
      stream.on('response.failed', ({ response, sequence_number: number }) => failed.push({ id: response.id, number }));
      await stream.done().catch(() => undefined);
      expect(failed).toEqual([{ id: ids[0], number: 12 }]);
    });
  });
}

function responsesEventsOf(text: string): readonly ResponsesEvent[] {
  return text.split('\n\n').flatMap((event) => {
    const data = /^data: (\{.*"type":"response\..*)$/m.exec(event)?.[1];
    return data === undefined ? [] : [JSON.parse(data) as ResponsesEvent];
  });
}
