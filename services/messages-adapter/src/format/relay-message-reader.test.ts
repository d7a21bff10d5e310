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
    const reader = new RelayMessageReader();
    expect(feed(reader, [Buffer.from(message)]).toString()).toBe(message);
    expect(reader).toMatchObject({ ending: { kind: 'finished' }, hasContent: true, answerId: 'msg_1' });
    expect(reader.reportedUsage).toEqual({ inputTokens: 10, cachedTokens: 6, outputTokens: 8, reasoningTokens: 0 });
  });

  it('gives nothing before the end, and the same however the bytes are split', () => {
    fc.assert(
      fc.property(fc.nat(Buffer.byteLength(message)), (at) => {
        const bytes = Buffer.from(message);
        const reader = new RelayMessageReader();
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
    const reader = new RelayMessageReader();
    feed(reader, [Buffer.from(message.replace('usage', 'used'))]);
    expect(reader.reportedUsage).toBeUndefined();
    expect(reader.producedCharacters).toBe('Hm'.length + 'Héllo'.length + '{"n":12345678901234567000}'.length);
  });

  it('has the status and the content type of the provider', () => {
    const reader = new RelayMessageReader();
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
    const reader = new RelayMessageReader();
    expect(feed(reader, [Buffer.from(body)])).toHaveLength(0);
    expect(reader.ending).toMatchObject({ kind: 'failed', failure: { result, upstreamStatus: 0 } });
    expect(JSON.stringify(reader.ending)).not.toContain('PROVIDER TEXT');
  });
});
