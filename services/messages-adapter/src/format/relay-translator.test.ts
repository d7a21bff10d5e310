import { create } from '@bufbuild/protobuf';
import type { ClientRequest } from '@gateway/adapter-kit';
import { BufferList } from '@gateway/json';
import { LeaseSchema } from '@gateway/proto/pool/v1/account_pb.js';
import { textOfBody } from '@gateway/testkit/adapters';
import { describe, expect, it } from 'vitest';
import { RelayAnswerReader } from './relay-answer-reader.ts';
import { RelayMessageReader } from './relay-message-reader.ts';
import { relayHeaders, relayTranslator, tokenCounter } from './relay-translator.ts';

const sent = '{"model":"gateway/claude","seed":12345678901234567890, "messages":[{"role":"system"}]}';
const spliced = sent.replace('gateway/claude', 'claude-sonnet-5');

describe('a Messages request', () => {
  it('is the client’s bytes with the leased model', () => {
    const call = relayTranslator.prepare(request(sent));
    expect([call.path, textOfBody(call)]).toEqual(['/messages', spliced]);
  });

  it.each([
    ['', RelayMessageReader, 'application/json'],
    ['"stream":false,', RelayMessageReader, 'application/json'],
    ['"stream":true,', RelayAnswerReader, 'text/event-stream'],
    ['"stream":false,"str\\u0065am" : true,', RelayAnswerReader, 'text/event-stream'],
  ])('with %s is answered by its own reader', (members, reader, accept) => {
    const { answer, headers } = relayTranslator.prepare(request(`{${members}"model":"m"}`));
    expect(answer).toBeInstanceOf(reader);
    expect(headers.accept).toBe(accept);
  });

  it('is refused when it names no model', () => {
    expect(() => relayTranslator.prepare(request('{}'))).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });
});

describe('a request for a count', () => {
  it('is the client’s bytes with the leased model, on its own path', () => {
    const call = tokenCounter.prepare(request(sent));
    expect([call.path, textOfBody(call)]).toEqual(['/messages/count_tokens', spliced]);
  });

  it('is answered with a count or not at all', () => {
    expect(tokenCounter.readCount({ input_tokens: 12, context_management: null })).toBe(12);
    for (const body of [{}, { input_tokens: '12' }, { input_tokens: -1 }, [12], null]) {
      expect(() => tokenCounter.readCount(body)).toThrow(TypeError);
    }
  });
});

describe.each([
  ['a Messages request', (forward: Record<string, string>) => relayTranslator.prepare(request(sent, forward))],
  ['a request for a count', (forward: Record<string, string>) => tokenCounter.prepare(request(sent, forward))],
])('the headers of %s', (_, prepare) => {
  const headersOf = (forward: Record<string, string>) => {
    const { accept: __, ...headers } = prepare(forward).headers;
    return headers;
  };

  it('are the version and the betas under both spellings, and nothing else of the client', () => {
    const forward = { 'partner-version': '2026-10-21', 'partner-beta': 'a,b', cookie: 'c', 'x-api-key': 'k' };
    expect(headersOf(forward)).toEqual({
      'anthropic-version': '2026-10-21',
      'partner-version': '2026-10-21',
      'anthropic-beta': 'a,b',
      'partner-beta': 'a,b',
    });
    expect(headersOf({ 'anthropic-version': '2024-01-01', 'anthropic-beta': 'c' })).toEqual({
      'anthropic-version': '2024-01-01',
      'partner-version': '2024-01-01',
      'anthropic-beta': 'c',
      'partner-beta': 'c',
    });
  });

  it('have a version when the client names none, and betas only then', () => {
    const defaults = { 'anthropic-version': '2023-06-01', 'partner-version': '2023-06-01' };
    expect(headersOf({})).toEqual(defaults);
    expect(headersOf({ 'partner-version': '', 'partner-beta': '' })).toEqual(defaults);
  });
});

function request(body: string, forwardHeaders: Record<string, string> = {}): ClientRequest {
  return {
    requestId: 'request-1',
    lease: create(LeaseSchema, { model: 'claude-sonnet-5' }),
    body: new BufferList([Buffer.from(body)]),
    forwardHeaders,
    members: [],
    affinityKey: '',
    nowMs: 1_700_000_000_999,
    maxAnswerBytes: 1_000_000,
    maxEventBytes: 1_000_000,
  };
}

describe('the headers of a relayed request', () => {
  it('are the client’s version and betas under both spellings, and what answer is expected', () => {
    const client = { 'anthropic-version': '2024-01-01', 'partner-beta': 'b1,b2', cookie: 'c' };
    expect(relayHeaders(client, 'text/event-stream')).toEqual({
      'anthropic-version': '2024-01-01',
      'partner-version': '2024-01-01',
      'anthropic-beta': 'b1,b2',
      'partner-beta': 'b1,b2',
      accept: 'text/event-stream',
    });
  });

  it('have a version even where the client names none', () => {
    expect(relayHeaders({}, 'application/json')).toEqual({
      'anthropic-version': '2023-06-01',
      'partner-version': '2023-06-01',
      accept: 'application/json',
    });
  });
});
