import { create } from '@bufbuild/protobuf';
import { BufferList } from '@gateway/json';
import { ExecuteHeadSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { RpcError } from '@gateway/rpc';
import { describe, expect, it } from 'vitest';
import { requestFrames } from '../endpoints/generate.ts';
import { ScriptedCall, type ScriptedCallOptions, type ScriptedFrame } from './__fixtures__/scripted-call.ts';
import { AnswerFrames } from './answer-frames.ts';
import { AnswerTooLongError } from './attempt-errors.ts';

const head: ScriptedFrame = { head: { status: 200 }, body: new Uint8Array([1]) };
const last: ScriptedFrame = { body: new Uint8Array([3]), result: { attempt: { result: AttemptResult.SUCCEEDED } } };
const sent: ScriptedFrame = { sent: true, usage: { inputTokens: 7 } };

/** What a reader receives: the bytes of frames, and its failure. */
function read(script: readonly ScriptedFrame[], options?: ScriptedCallOptions, isRecorded = true) {
  const client = new AbortController();
  const call = new ScriptedCall(script, options);
  const frames = new AnswerFrames(call.frames, { call: call.controller, client: client.signal, isRecorded });
  const seen: unknown[] = [];
  const reading = (async () => {
    for (let isLast = false; !isLast; ) {
      const { body, result } = await frames.next();
      seen.push(...body);
      isLast = result !== undefined;
    }
  })().catch((thrown: unknown) => seen.push(thrown));
  return { call, seen, reading, leave: () => client.abort() };
}

const cancelled = expect.objectContaining({ status: 'cancelled' });

describe('the frames of an answer', () => {
  it.each([true, false])(
    'are all read in their order, up to the one with the result: together %s',
    async (together) => {
      const { reading, seen, call } = read([head, { body: new Uint8Array([2]) }, last, 'hang'], { together });
      await reading;
      expect(seen).toEqual([1, 2, 3]);
      expect(call.hasEnded).toBe(true);
    },
  );

  it('fail when there is no result', async () => {
    const { reading, seen } = read([head, 'end']);
    await reading;
    expect(seen).toEqual([1, expect.objectContaining({ status: 'internal' })]);
  });

  it('fail when the adapter goes away', async () => {
    const lost = new RpcError('unavailable', 'connection lost');
    const { reading, seen } = read([head, lost]);
    await reading;
    expect(seen).toEqual([1, lost]);
  });

  it('end at once when the client leaves', async () => {
    const { reading, seen, call, leave } = read([head, 'hang']);
    await expect.poll(() => seen).toEqual([1]);
    leave();
    expect(call.isAborted).toBe(true);
    await reading;
    expect(seen).toEqual([1, cancelled]);
  });

  it('end at once when the client leaves after the request was sent', async () => {
    const { call, reading, seen, leave } = read([sent, 'hang']);
    await expect.poll(() => call.taken).toBe(1);
    leave();
    expect(call.isAborted).toBe(true);
    await reading;
    expect(seen).toEqual([cancelled]);
  });

  it('are waited for a little when the client leaves before it is known that the request was sent', async () => {
    const { call, reading, seen, leave } = read([sent, head]);
    leave();
    expect(call.isAborted).toBe(false);
    await reading;
    expect([call.taken, seen]).toEqual([1, [cancelled]]);
  });

  it('are not waited for when it makes no difference whether the request was sent', async () => {
    const { call, reading, leave } = read(['hang'], {}, false);
    leave();
    expect(call.isAborted).toBe(true);
    await reading;
  });

  it('are not waited for longer', async () => {
    const { call, reading, seen, leave } = read(['hang']);
    leave();
    await reading;
    expect([call.isAborted, seen]).toEqual([true, [cancelled]]);
  });

  it('fail in a way that is no fault of the adapter when the answer lasts too long', async () => {
    const { reading, seen } = read([head, new RpcError('deadline_exceeded', 'The call took too long.')]);
    await reading;
    expect(seen).toEqual([1, expect.any(AnswerTooLongError)]);
  });

  it('are not asked for when the client has left', async () => {
    const call = new ScriptedCall([head]);
    const options = { call: call.controller, client: AbortSignal.abort('has left'), isRecorded: true };
    expect(() => new AnswerFrames(call.frames, options)).toThrow('has left');
    expect(call.taken).toBe(0);
  });

  it('end with their reader', async () => {
    const call = new ScriptedCall([head, head]);
    const client = new AbortController().signal;
    const frames = new AnswerFrames(call.frames, { call: call.controller, client, isRecorded: true });
    await frames.next();
    frames.close();
    await expect.poll(() => call.hasEnded).toBe(true);
    expect(call.taken).toBe(1);
  });
});

describe('the frames of a request', () => {
  it.each([[0], [1], [256 * 1024], [256 * 1024 + 1], [700_000]])(
    'hold its head first, and all of %i bytes',
    async (size) => {
      const body = Buffer.alloc(size, 'x');
      const pieces = [body.subarray(0, size >> 1), Buffer.from(body.subarray(size >> 1))];
      const frames = await Array.fromAsync(
        requestFrames(create(ExecuteHeadSchema, { requestId: 'r' }), new BufferList(pieces)),
      );
      expect(frames.map((frame) => frame.head?.requestId)).toEqual(['r', ...frames.slice(1).map(() => undefined)]);
      expect(Buffer.concat(frames.map((frame) => frame.body)).equals(body)).toBe(true);
      for (const frame of frames) expect(frame.body.length).toBeLessThanOrEqual(256 * 1024);
    },
  );
});
