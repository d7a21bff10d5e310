import { stat } from 'node:fs';
import { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { GatewayError } from '@gateway/errors';
import { describe, expect, it } from 'vitest';
import { type BodyRules, EdgeRequest, receiveUpload } from './read-body.ts';

const patience: BodyRules['pace'] = { idleMs: 10_000, leastBytesPerSecond: 4_096, windowMs: 60_000 };
const never = new AbortController().signal;

function open(pace: Partial<BodyRules['pace']> = {}, signal = never) {
  const request = new EdgeRequest(new Socket());
  const upload = receiveUpload(request, { ...patience, ...pace }, signal);
  return { request, upload };
}

async function textOf(upload: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of upload) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe('an upload', () => {
  it('is read to its end, all of what was there before it was read, too', async () => {
    const { request, upload } = open();
    for (const byte of Buffer.from('"é"')) request.push(Buffer.of(byte));
    await wait(1);
    request.push(Buffer.from('later'));
    request.push(null);
    expect(await textOf(upload)).toBe('"é"later');
  });

  it('ends with 408 after too long without a byte, and leaves its connection open', async () => {
    const { request, upload } = open({ idleMs: 50 });
    request.push(Buffer.from('{'));
    await expect(textOf(upload)).rejects.toMatchObject({ status: 408, code: 'invalid_request' });
    expect(request.destroyed).toBe(false);
    expect(request.socket.destroyed).toBe(false);
    expect(request.isPaused()).toBe(true);
  });

  it('ends with 408 when too few bytes came in a window', async () => {
    const { request, upload } = open({ idleMs: 5_000, leastBytesPerSecond: 1_000, windowMs: 300 });
    const trickle = setInterval(() => request.push(Buffer.of(32)), 10);
    await expect(textOf(upload).finally(() => clearInterval(trickle))).rejects.toMatchObject({ status: 408 });
  });

  it('must be fast enough in every window', async () => {
    const { request, upload } = open({ idleMs: 5_000, leastBytesPerSecond: 1_000, windowMs: 300 });
    request.push(Buffer.alloc(1_000_000));
    const trickle = setInterval(() => request.push(Buffer.of(32)), 10);
    await expect(textOf(upload).finally(() => clearInterval(trickle))).rejects.toMatchObject({ status: 408 });
  });

  it('may take as long as it likes when it is fast enough', async () => {
    const { request, upload } = open({ idleMs: 5_000, leastBytesPerSecond: 1_000, windowMs: 100 });
    let sent = 0;
    const steady = setInterval(() => {
      sent += 1;
      request.push(sent === 40 ? null : Buffer.alloc(1_000, 32));
    }, 10);
    expect((await textOf(upload).finally(() => clearInterval(steady))).length).toBe(39_000);
  });

  it('is not idle while its reader is busy or waits for room', async () => {
    const { request, upload } = open({ idleMs: 100, windowMs: 100, leastBytesPerSecond: 10 });
    request.push(Buffer.from('first'));
    let text = '';
    for await (const chunk of upload) {
      text += chunk.toString();
      if (text === 'first') {
        await wait(300);
        request.push(Buffer.from('second'));
        request.push(null);
      }
    }
    expect(text).toBe('firstsecond');
  });

  it('is not idle when this process had no time to read', async () => {
    const { request, upload } = open({ idleMs: 50 });
    const text = textOf(upload);
    await wait(1);
    setImmediate(() => {
      // Its callback comes from the system, like bytes of a socket: after the timers that are due.
      stat('.', () => {
        request.push(Buffer.from('x'));
        request.push(null);
      });
      const endsAtMs = performance.now() + 200;
      while (performance.now() < endsAtMs);
    });
    expect(await text).toBe('x');
  });

  it.each([
    ['its client leaves', (request: EdgeRequest) => void request.destroy(new Error('aborted'))],
    ['it is cut', (request: EdgeRequest) => void request.emit('close')],
  ])('breaks off when %s', async (_how, end) => {
    const { request, upload } = open();
    request.push(Buffer.from('{"a"'));
    const text = textOf(upload);
    await wait(1);
    end(request);
    await expect(text).rejects.toThrow();
  });

  it('ends with what it was broken with, before it is read or after', async () => {
    const fault = new GatewayError('invalid_request', 'No HTTP.');
    const late = open();
    const text = textOf(late.upload);
    await wait(1);
    late.request.breakUpload(fault);
    await expect(text).rejects.toBe(fault);
    const early = open();
    early.request.breakUpload(fault);
    await expect(textOf(early.upload)).rejects.toBe(fault);
  });

  it('ends when it is aborted, and its connection stays open', async () => {
    const abort = new AbortController();
    const { request, upload } = open({}, abort.signal);
    const text = textOf(upload);
    await wait(1);
    abort.abort();
    await expect(text).rejects.toMatchObject({ name: 'AbortError' });
    expect(request.destroyed).toBe(false);
  });

  it('leaves the rest in the request when its reader leaves', async () => {
    const { request, upload } = open();
    request.push(Buffer.from('a'));
    for await (const _chunk of upload) break;
    expect(request.destroyed).toBe(false);
    expect(request.listenerCount('data')).toBe(0);
  });
});
