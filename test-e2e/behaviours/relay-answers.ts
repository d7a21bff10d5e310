import type { FaultScript } from '@gateway/simulator';
import { beforeAll, describe, expect, it } from 'vitest';
import { askAgain, lastRequestTo, withoutIds } from '../client/provider-record.ts';
import { messagesBody, relay, responsesBody } from '../client/relay.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

const texts = [
  ['a text', 'Grüße 🌍 日本'],
  ['a long text', '#long 700'],
  ['reasoning', 'think #reason 40'],
  ['calls of tools', '#tool weather {"city":"’s-Hertogenbosch"} #tool weather {"city":"Gent"}'],
  ['a refusal', '#refuse'],
  ['an answer that was cut', 'x #incomplete'],
] as const;

const faults: readonly (readonly [string, FaultScript['fault']])[] = [
  ['in pieces of a few bytes', { kind: 'split_utf8' }],
  ['one event at a time', { kind: 'delay', beforeFirstEventMs: 30, betweenEventsMs: 2 }],
  ['with events and comments that nobody knows', { kind: 'unknown_events' }],
];

const weatherSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

const relays = [
  {
    path: '/v1/messages',
    account: 'bytes-a',
    bodyOf: (text: string, stream: boolean) =>
      messagesBody('gateway/bytes', text, {
        stream,
        tools: [{ name: 'weather', description: 'Weather of a city', input_schema: weatherSchema }],
      }),
  },
  {
    path: '/v1/responses',
    account: 'responses-gpt-bytes-a',
    bodyOf: (text: string, stream: boolean) =>
      responsesBody('gpt-bytes', text, {
        stream,
        reasoning: { summary: 'auto' },
        tools: [{ type: 'function', name: 'weather', parameters: weatherSchema }],
      }),
  },
] as const;

/** A relay's answer is exactly what the provider sent. */
export function relayAnswersBehaviour(gateway: () => Topology): void {
  describe.each(relays)('an answer on $path', ({ path, account, bodyOf }) => {
    let token = '';
    beforeAll(async () => {
      token = (await issueToken(gateway(), { kind: 'personal' })).text;
    });

    /**
     * Sends a request through the gateway, then the bytes that reached the provider to the provider
     * itself.
     */
    const askTwice = async (body: unknown) => {
      const relayed = await relay(gateway(), token, { path, body });
      const direct = await askAgain(gateway().simulator, lastRequestTo(gateway().simulator, account, path));
      return { relayed, direct };
    };

    describe.each([true, false])('when stream is %s', (stream) => {
      it.each(texts)("equals the provider's answer byte for byte: %s", async (_what, text) => {
        const { relayed, direct } = await askTwice(bodyOf(text, stream));
        expect(relayed.status).toBe(200);
        expect(relayed.headers.get('content-type')).toMatch(
          stream || path === '/v1/responses' ? /^text\/event-stream/ : /^application\/json/,
        );
        expect(withoutIds(relayed.text)).toBe(withoutIds(direct.text));
      });
    });

    it.each(faults)('stays the same when it comes %s', async (_how, fault) => {
      const { simulator } = gateway();
      const id = simulator.faults.add({ account, fault });
      const { relayed, direct } = await askTwice(bodyOf('Grüße 🌍 日本 #long 60', true));
      simulator.faults.clear(id);
      expect(relayed.status).toBe(200);
      // Bytes after the end are forwarded if they come in the same piece.
      const text = withoutIds(relayed.text);
      expect(withoutIds(direct.text).slice(0, text.length)).toBe(text);
      expect(withoutIds(untilItsEnd(relayed.text))).toBe(withoutIds(untilItsEnd(direct.text)));
      expect(text).toContain(path === '/v1/responses' ? 'response.completed' : 'message_stop');
      expect(lastRequestTo(simulator, account, path).faults).toContain('kind' in fault ? fault.kind : '');
    });
  });

  describe('a Responses stream whose final event has an empty output', () => {
    it('gets the items that the stream had, and is otherwise as sent', async () => {
      const { text: token } = await issueToken(gateway(), { kind: 'personal' });
      const { simulator } = gateway();
      const id = simulator.faults.add({ account: 'responses-gpt-bytes-a', fault: { kind: 'empty_output' } });
      const body = responsesBody('gpt-bytes', 'say #reason 5');
      const relayed = await relay(gateway(), token, { path: '/v1/responses', body });
      simulator.faults.clear(id);
      const record = lastRequestTo(simulator, 'responses-gpt-bytes-a', '/v1/responses');
      expect(record.faults).toEqual(['empty_output']);
      const complete = await askAgain(simulator, record);
      expect(dataOf(withoutIds(relayed.text))).toEqual(dataOf(withoutIds(complete.text)));
      expect(relayed.text).toContain('"output":[{');
    });
  });
}

/** A stream until its terminal event. */
function untilItsEnd(stream: string): string {
  const terminal = /^event: (message_stop|response\.completed)\ndata: .*\n\n/m.exec(stream);
  return terminal === null ? stream : stream.slice(0, terminal.index + terminal[0].length);
}

function dataOf(stream: string): readonly unknown[] {
  return stream
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line): unknown => JSON.parse(line.slice('data: '.length)));
}
