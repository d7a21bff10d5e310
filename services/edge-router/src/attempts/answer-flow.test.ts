import type { ExecuteResponse } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { RpcError } from '@gateway/rpc';
import { describe, expect, it } from 'vitest';
import { ClientPresence } from '../http/client-presence.ts';
import { ScriptedAnswers, type ScriptedFrame, unobserved } from './__fixtures__/scripted-answers.ts';
import { AnswerFlow, type AnswerReader } from './answer-flow.ts';
import { AnswerTooLongError } from './answer-too-long-error.ts';

const head: ScriptedFrame = { head: { status: 200 }, body: new Uint8Array([1]) };
const last: ScriptedFrame = { body: new Uint8Array([3]), outcome: { attempt: { result: AttemptResult.SUCCEEDED } } };

function flowOf(script: readonly ScriptedFrame[], options?: { together: boolean }) {
  const client = new ClientPresence();
  const used: bigint[] = [];
  const sent: bigint[] = [];
  const answers = new ScriptedAnswers(script, options);
  const flow = new AnswerFlow(client, {
    onSent: ({ inputTokens }) => void sent.push(inputTokens),
    onUsage: ({ outputTokens }) => void used.push(outputTokens),
  });
  return { client, used, sent, answers, flow, start: flow.begin(answers) };
}

class Reader implements AnswerReader {
  readonly read: unknown[] = [];
  onFrame({ body }: ExecuteResponse): void {
    this.read.push(...body);
  }
  onBrokenOff(reason: unknown): void {
    this.read.push(reason);
  }
}

describe('AnswerFlow', () => {
  it('loses no frame that comes before there is a reader, and keeps their order', async () => {
    for (const together of [true, false]) {
      const { flow, start } = flowOf([head, { body: new Uint8Array([2]) }, last, 'end'], { together });
      expect(await start).toEqual({ kind: 'answering', value: flow });
      const reader = new Reader();
      flow.readBy(reader);
      await expect.poll(() => reader.read).toEqual([1, 2, 3]);
    }
  });

  it('tells of usage before the head, which decides nothing', async () => {
    const { start, used } = flowOf([{ usage: { outputTokens: 7n } }, { usage: { outputTokens: 8n } }, head]);
    expect((await start).kind).toBe('answering');
    expect(used).toEqual([7n, 8n]);
  });

  it('cancels the call of an attempt that failed', async () => {
    const failed = { outcome: { attempt: { result: AttemptResult.RATE_LIMITED } } };
    const { start, answers } = flowOf([failed, 'hang']);
    expect(await start).toMatchObject({ kind: 'failed', outcome: { result: AttemptResult.RATE_LIMITED } });
    expect(answers.done).toEqual(['cancelled']);
  });

  it('says that the adapter is away when it could not be reached or lost the call', async () => {
    const gone = flowOf([new RpcError('unavailable', 'connection lost')]);
    expect(await gone.start).toMatchObject({ kind: 'adapter_away', isGone: true });
    expect(await flowOf(['end']).start).toMatchObject({ kind: 'adapter_away', isGone: false });
  });

  it('tells the reader once when the answer breaks off, also when that was before it came', async () => {
    for (const together of [true, false]) {
      const lost = new RpcError('unavailable', 'connection lost');
      const { flow, start, client } = flowOf([head, lost], { together });
      await start;
      const reader = new Reader();
      flow.readBy(reader);
      await expect.poll(() => reader.read).toEqual([1, lost]);
      client.leave();
      expect(reader.read).toEqual([1, lost]);
    }
  });

  it('says that an answer without an outcome broke off', async () => {
    const { flow, start } = flowOf([head, 'end']);
    await start;
    const reader = new Reader();
    flow.readBy(reader);
    await expect.poll(() => reader.read).toEqual([1, expect.any(RpcError)]);
  });

  it('cancels the call at once when the client leaves, and then tells nothing more', async () => {
    const { flow, start, client, answers } = flowOf([head, 'hang']);
    await start;
    const reader = new Reader();
    flow.readBy(reader);
    client.leave();
    expect(answers.done).toEqual(['cancelled']);
    expect(reader.read).toEqual([1, expect.objectContaining({ status: 'cancelled' })]);
  });

  it('is final for the request when the client leaves before anything is decided', async () => {
    const waiting = flowOf(['hang']);
    waiting.client.leave();
    await expect(waiting.start).rejects.toMatchObject({ status: 'cancelled' });
    expect(waiting.answers.done).toEqual(['cancelled']);
  });

  it('is cancelled at once when the client leaves after the request was sent', async () => {
    const { client, start, sent, answers } = flowOf([{ sent: true, usage: { inputTokens: 7n } }, 'hang']);
    await expect.poll(() => sent).toEqual([7n]);
    client.leave();
    expect(answers.done).toEqual(['cancelled']);
    await expect(start).rejects.toMatchObject({ status: 'cancelled' });
  });

  it('waits a little for the word that the request was sent when the client leaves before it', async () => {
    const { client, start, sent, answers } = flowOf([{ sent: true, usage: { inputTokens: 7n } }, head]);
    client.leave();
    expect(answers.done).toEqual([]);
    await expect(start).rejects.toMatchObject({ status: 'cancelled' });
    expect(sent).toEqual([7n]);
    expect(answers.done).toEqual(['cancelled']);
  });

  it('is final for the request, and no fault of the adapter, when the answer lasts too long', async () => {
    const tooLong = new RpcError('deadline_exceeded', 'The call took too long.');
    await expect(flowOf([tooLong]).start).rejects.toBeInstanceOf(AnswerTooLongError);
    const { flow, start } = flowOf([head, tooLong]);
    await start;
    const reader = new Reader();
    flow.readBy(reader);
    await expect.poll(() => reader.read).toEqual([1, expect.any(AnswerTooLongError)]);
  });

  it('does not begin a call for a client that has left', async () => {
    const client = new ClientPresence();
    client.leave();
    const answers = new ScriptedAnswers([head]);
    await expect(new AnswerFlow(client, unobserved).begin(answers)).rejects.toMatchObject({ status: 'cancelled' });
    expect(answers.done).toEqual([]);
  });

  it('takes no notice of a client that leaves after the last frame', async () => {
    const { flow, start, client } = flowOf([head, last]);
    await start;
    const reader = new Reader();
    flow.readBy(reader);
    await expect.poll(() => reader.read).toEqual([1, 3]);
    client.leave();
    expect(reader.read).toEqual([1, 3]);
  });
});
