import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { feed } from './__fixtures__/replay.ts';
import { RelayMessageReader } from './relay-message-reader.ts';

const message = `{ "id":"msg_1", "type":"message","content":[
  {"type":"thinking","thinking":"Hm","signature":"sig"}, {"type":"text","text":"Héllo"},
  {"type":"tool_use","id":"t","name":"f","input":{"n":12345678901234567890}}],
  "usage":{"input_tokens":4,"cache_read_input_tokens":6,"output_tokens":7,"output_tokens":8}, "x":1.50 }\n`;

describe('RelayMessageReader', () => {
  it('gives the provider’s bytes, and reads id and usage', () => {
    const reader = new RelayMessageReader(1_000);
    expect(feed(reader, [Buffer.from(message)]).toString()).toBe(message);
    expect(reader).toMatchObject({ result: { kind: 'finished' }, hasContent: true, answerId: 'msg_1' });
    expect(reader.reportedUsage).toEqual({ inputTokens: 10, cachedTokens: 6, outputTokens: 8, reasoningTokens: 0 });
  });

  it.each([
    ['held', 1_000],
    ['passed on as it comes', 10],
  ])('knows why the model stopped, and which one it was: %s', (_, maxBytes) => {
    const reader = new RelayMessageReader(maxBytes);
    const end = '"stop_reason":"refusal","model":"claude-x-1","usage"';
    feed(reader, [Buffer.from(message.slice(0, 40)), Buffer.from(message.slice(40).replace('"usage"', end))]);
    expect(reader).toMatchObject({ finishReason: 'content_filter', answeringModel: 'claude-x-1' });
  });

  it('gives nothing before the end, and the same however the bytes are split', () => {
    fc.assert(
      fc.property(fc.nat(Buffer.byteLength(message)), (at) => {
        const bytes = Buffer.from(message);
        const reader = new RelayMessageReader(1_000);
        reader.push(bytes.subarray(0, at));
        reader.push(bytes.subarray(at));
        expect([reader.hasContent, reader.take().length]).toEqual([false, 0]);
        reader.end();
        expect(Buffer.from(reader.take()).equals(bytes)).toBe(true);
        expect(reader.take()).toHaveLength(0);
      }),
    );
  });

  it('counts what the model wrote, for a message without usage', () => {
    const reader = new RelayMessageReader(1_000);
    feed(reader, [Buffer.from(message.replace('usage', 'used'))]);
    expect(reader.reportedUsage).toBeUndefined();
    expect(reader.producedCharacters).toBe('Hm'.length + 'Héllo'.length + '{"n":12345678901234567000}'.length);
  });

  it('has the status and the content type of the provider', () => {
    const reader = new RelayMessageReader(1_000);
    expect(reader.head).toEqual({ status: 200, headers: { 'content-type': 'application/json' } });
    reader.onHead({ status: 201, headers: { 'content-type': 'application/json; charset=x', 'request-id': 'r' } });
    expect(reader.head).toEqual({ status: 201, headers: { 'content-type': 'application/json; charset=x' } });
  });

  it.each([
    ['', AttemptResult.SERVER_ERROR],
    ['{"type":"message"', AttemptResult.SERVER_ERROR],
    ['[{"type":"message"}]', AttemptResult.SERVER_ERROR],
    ['{"type":"completion"}', AttemptResult.SERVER_ERROR],
    ['{"type":"error","error":{"type":"overloaded_error","message":"PROVIDER TEXT"}}', AttemptResult.OVERLOADED],
    ['event: message_start\ndata: {"type":"message"}\n\n', AttemptResult.SERVER_ERROR],
  ])('takes nothing but a message for one: %s', (body, result) => {
    const reader = new RelayMessageReader(1_000);
    expect(feed(reader, [Buffer.from(body)])).toHaveLength(0);
    expect(reader.result).toMatchObject({ kind: 'failed', failure: { result, upstreamStatus: 0 } });
    expect(JSON.stringify(reader.result)).not.toContain('PROVIDER TEXT');
  });
});

describe('a message that is larger than what is held', () => {
  const text = 'x'.repeat(70_000);
  const large = JSON.stringify({
    id: 'msg_1',
    type: 'message',
    content: [{ type: 'text', text }],
    usage: { input_tokens: 4, output_tokens: 8 },
  });

  it('is passed on as it comes, and its usage is read all the same', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(large.length), { maxLength: 5 }), (cuts) => {
        const reader = new RelayMessageReader(1_000);
        const taken: Uint8Array[] = [];
        const places = [0, ...cuts.toSorted((a, b) => a - b), large.length];
        for (const [index, at] of places.slice(1).entries()) {
          reader.push(Buffer.from(large.slice(places[index], at)));
          taken.push(reader.take());
        }
        expect(reader.hasContent).toBe(true);
        reader.end();
        taken.push(reader.take());
        expect(Buffer.concat(taken).toString()).toBe(large);
        expect(reader).toMatchObject({ result: { kind: 'finished' }, answerId: 'msg_1' });
        expect(reader.reportedUsage).toMatchObject({ inputTokens: 4, outputTokens: 8 });
      }),
    );
  });

  it('has produced about as much as came, should it break off', () => {
    const reader = new RelayMessageReader(1_000);
    reader.push(Buffer.from(large.slice(0, 60_000)));
    expect(reader.producedCharacters).toBe(60_000);
    reader.end();
    expect(reader.result).toMatchObject({ kind: 'failed', failure: { result: AttemptResult.SERVER_ERROR } });
  });

  it('gives nothing when it is none, or does not say so in time', () => {
    const other = new RelayMessageReader(1_000);
    other.push(Buffer.from(`not JSON ${text}`));
    expect(other.result).toMatchObject({ failure: { result: AttemptResult.SERVER_ERROR } });
    const late = new RelayMessageReader(1_000);
    late.push(Buffer.from(`{"content":"${text}`));
    expect(late.result).toMatchObject({ failure: { result: AttemptResult.ANSWER_TOO_LARGE } });
    expect([...other.take(), ...late.take()]).toEqual([]);
  });
});
