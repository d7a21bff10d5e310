import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { cutAt, postInPieces } from '../client/post-in-pieces.ts';
import { askAgain, lastRequestTo, withoutIds } from '../client/provider-record.ts';
import {
  meaningOf,
  objectText,
  type RawMember,
  rawTextContents,
  rawValues,
  type SpacedMember,
  spaced,
  spaces,
  topLevelMembers,
} from '../client/raw-json.ts';
import { countBody, messagesBody, relay, relayHeaders, responsesBody } from '../client/relay.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

/** The same bodies in every run: a failure is reproducible. */
const runs = { numRuns: 60, seed: 20_261_120 } as const;

/** The parts of a relayed request's body that reach the provider. */
export function relayRequestsBehaviour(gateway: () => Topology): void {
  describe('the body of a relayed request', () => {
    let token = '';
    beforeAll(async () => {
      token = (await issueToken(gateway(), { kind: 'personal' })).text;
    });

    /**
     * The latest request that the account received, after checking that the account also gave the
     * client's answer.
     */
    const receivedFor = async (answer: { status: number; text: string }, account: string, path: string) => {
      const received = lastRequestTo(gateway().simulator, account, path);
      const direct = await askAgain(gateway().simulator, received);
      return { received: Buffer.from(received.body).toString(), answer: plain(answer), direct: plain(direct) };
    };

    it('reaches the Messages provider with nothing but its model changed', async () => {
      const headers = { 'anthropic-beta': 'members-of-all-kinds' };
      await fc.assert(
        fc.asyncProperty(messagesMembers, fc.tuple(spaces, spaces), async (members, around) => {
          const body = objectText(members, around);
          const sent = await relay(gateway(), token, { path: '/v1/messages', body, headers });
          const { received, answer, direct } = await receivedFor(sent, 'bytes-a', '/v1/messages');
          expect(received).toBe(objectText(members.map(withResolvedModel), around));
          expect(answer).toEqual(direct);
          expect(answer.status).toBe(200);
        }),
        runs,
      );
    });

    it('reaches the Responses provider with stream and store set and two members removed', async () => {
      await fc.assert(
        fc.asyncProperty(responsesMembers, fc.tuple(spaces, spaces), async (members, around) => {
          const body = objectText(members, around);
          const sent = await relay(gateway(), token, { path: '/v1/responses', body });
          const { received, answer, direct } = await receivedFor(sent, 'responses-gpt-bytes-a', '/v1/responses');
          const found = topLevelMembers(received);
          expect(() => JSON.parse(received)).not.toThrow();
          expect(found.filter(isUntouched)).toEqual(
            members.filter(isUntouched).map(({ key, value }) => ({ key, value })),
          );
          const set = found.filter((member) => !isUntouched(member)).map(({ key, value }) => [meaningOf(key), value]);
          // A repeated member may stay repeated if all copies are equal.
          expect(new Set(set.map(String))).toEqual(new Set(['stream,true', 'store,false']));
          expect(answer).toEqual(direct);
        }),
        runs,
      );
    });

    it.each([
      ['/v1/messages', ['"stream":true,"max_tokens":7,', ',"stream":false', ', "max_tokens":8']],
      ['/v1/messages/count_tokens', ['"system":"x",', ',"system":"y"', ', "system":"z"']],
    ] as const)(
      'has every repeated model replaced on %s, and the last of each key counts',
      async (path, [first, second, third]) => {
        const messages = '"messages":[{"role":"user","content":"hello"}]';
        const bodyWith = (other: string, wanted: string) =>
          `{ "model": ${other},"m\u006fdel":${wanted},${first} ${messages}${second},` +
          `"\u006dodel" : ${other}${third},"model":${wanted}}`;
        const { status, text } = await relay(gateway(), token, {
          path,
          body: bodyWith('"gpt-nowhere"', requestedModel),
        });
        expect(status, text).toBe(200);
        expect(text).not.toContain('event:');
        const received = Buffer.from(lastRequestTo(gateway().simulator, 'bytes-a', path).body).toString();
        expect(received).toBe(bodyWith(resolvedModel, resolvedModel));
      },
    );

    it('has every repeated member replaced or removed on /v1/responses', async () => {
      const input = '"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}]';
      const body =
        `{"max_output_tokens":1,"model":"gpt-nowhere","stream":false,"store":true,"st\u006fre":1,${input},` +
        `"client_metadata":{},"str\u0065am":"x","max_output\u005ftokens":2,"stream":0,"mod\u0065l":"gpt-nowhere",` +
        `"store":[],"client\u005fmetadata":{"a":[1]},"model":"gpt-bytes","max_output_tokens":3}`;
      const { status, text } = await relay(gateway(), token, { path: '/v1/responses', body });
      expect(status, text).toBe(200);
      const received = Buffer.from(lastRequestTo(gateway().simulator, 'responses-gpt-bytes-a', '/v1/responses').body);
      const members = topLevelMembers(received.toString()).map(({ key, value }) => [meaningOf(key), value]);
      expect(members).toEqual([
        ['model', '"gpt-bytes"'],
        ['stream', 'true'],
        ['store', 'false'],
        ['store', 'false'],
        ['input', expect.any(String)],
        ['stream', 'true'],
        ['stream', 'true'],
        ['model', '"gpt-bytes"'],
        ['store', 'false'],
        ['model', '"gpt-bytes"'],
      ]);
    });

    it('of chat is read as JSON parsers read it: the last of each key counts', async () => {
      const body =
        '{"model":"gateway/nowhere","stream":true,"messages":[],"mod\u0065l":"gateway/bytes","stream":false,' +
        '"messages":[{"role":"user","content":"hello"}]}';
      const response = await fetch(`${gateway().baseUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body,
      });
      expect([response.status, await response.json()]).toMatchObject([200, { object: 'chat.completion' }]);
    });

    it.each([
      { path: '/v1/messages', account: 'bytes-a', make: messagesBody, model: 'gateway/bytes' },
      { path: '/v1/responses', account: 'responses-gpt-bytes-a', make: responsesBody, model: 'gpt-bytes' },
    ] as const)('is the same on $path in whatever pieces it comes', async ({ path, account, make, model }) => {
      const body = JSON.stringify(make(model, 'Grüße 🌍 日本 #long 40'));
      const whole = await relay(gateway(), token, { path, body });
      const expected = await receivedFor(whole, account, path);
      const pieces = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });
      await fc.assert(
        fc.asyncProperty(pieces, fc.constantFrom('chunked', 'content-length'), async (places, framing) => {
          const answer = await postInPieces({
            url: `${gateway().baseUrl}${path}`,
            headers: relayHeaders(token, path),
            pieces: cutAt(Buffer.from(body), places),
            framing,
          });
          expect(plain(answer)).toEqual(expected.answer);
          expect(Buffer.from(lastRequestTo(gateway().simulator, account, path).body).toString()).toBe(
            expected.received,
          );
        }),
        { ...runs, numRuns: 25 },
      );
    });

    it.each([
      { path: '/v1/messages?beta=true', make: messagesBody, model: 'gateway/bytes' },
      { path: '/v1/messages/count_tokens?beta=true&x=%00', make: countBody, model: 'gateway/bytes' },
      { path: '/v1/responses?client_version=1', make: responsesBody, model: 'gpt-bytes' },
    ])('is answered on $path as without the query', async ({ path, make, model }) => {
      const response = await fetch(`${gateway().baseUrl}${path}`, {
        method: 'POST',
        headers: { ...relayHeaders(token, '/v1/responses'), 'x-api-key': token },
        body: JSON.stringify(make(model, 'hello')),
      });
      expect(response.status).toBe(200);
      await response.text();
    });
  });
}

const plain = ({ status, text }: { status: number; text: string }) => ({ status, text: withoutIds(text) });

/** An escaped slash, as some languages write it, in a class that stands for another model. */
const requestedModel = '"gateway\\/bytes"';
const resolvedModel = '"claude-sonnet-5"';

function withResolvedModel(member: SpacedMember): SpacedMember {
  return meaningOf(member.key) === 'model' ? { ...member, value: resolvedModel } : member;
}

const member = (key: string, values: fc.Arbitrary<string>) => spaced(fc.constant(key), values);
const shuffled = (lists: fc.Arbitrary<readonly (readonly SpacedMember[])[]>) =>
  lists.chain((list) => fc.shuffledSubarray(list.flat(), { minLength: list.flat().length }));

const someText = rawTextContents.map((text) => `"x${text}"`);
const unknownMembers = fc.array(
  spaced(fc.constantFrom('"unknown"', '"é\\n"', '"models"', '"a"', '"\\u0061"'), rawValues),
  {
    maxLength: 4,
  },
);

const messagesMembers = shuffled(
  fc.tuple(
    fc.tuple(
      spaced(fc.constantFrom('"model"', '"mo\\u0064el"'), fc.constant(requestedModel)),
      member('"max_tokens"', fc.constantFrom('100', '1e2', '20.0')),
      member(
        '"messages"',
        fc.tuple(someText, rawValues).map(([text, more]) => `[ {"role":"user","content":${text},"unknown":${more}}]`),
      ),
    ),
    fc.array(member('"metadata"', rawValues), { maxLength: 1 }),
    fc.array(member('"stream"', fc.constantFrom('true', 'false')), { maxLength: 1 }),
    unknownMembers,
  ),
);

const responsesMembers = shuffled(
  fc.tuple(
    fc.tuple(
      spaced(fc.constantFrom('"model"', '"mo\\u0064el"'), fc.constant('"gpt-bytes"')),
      member(
        '"input"',
        fc.tuple(someText, rawValues).map(([text, more]) => `[{"role":"user","content":${text},"unknown":${more}} ]`),
      ),
    ),
    fc.array(member('"metadata"', rawValues), { maxLength: 1 }),
    fc.array(member('"instructions"', someText), { maxLength: 1 }),
    fc.array(spaced(fc.constantFrom('"stream"', '"\\u0073tream"', '"store"'), rawValues), { maxLength: 3 }),
    fc.array(
      spaced(fc.constantFrom('"max_output_tokens"', '"max\\u005foutput_tokens"', '"client_metadata"'), rawValues),
      { maxLength: 3 },
    ),
    // The provider refuses unknown values: they are relayed, and its refusal comes back.
    fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: unknownMembers }),
  ),
);

const decidedByTheGateway: ReadonlySet<unknown> = new Set(['stream', 'store', 'max_output_tokens', 'client_metadata']);

function isUntouched({ key }: RawMember): boolean {
  return !decidedByTheGateway.has(meaningOf(key));
}
