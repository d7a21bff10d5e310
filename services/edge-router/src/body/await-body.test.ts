import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { JsonSkimmer } from '@gateway/json';
import { describe, expect, it } from 'vitest';
import { awaitBody } from './await-body.ts';
import { BodyIntake } from './body-intake.ts';

const listened = ['data', 'end', 'error', 'close'] as const;

function intakeOf(expectedBytes: number): BodyIntake {
  const rules = { limitBytes: 64 * 1024 * 1024, acceptsCompression: true };
  return new BodyIntake({ rules, skimmer: new JsonSkimmer(), expectedBytes, sizeIsCertain: true });
}

function setUp(text: string) {
  const request = new IncomingMessage(new Socket());
  const listenersBefore = listened.map((event) => request.listenerCount(event));
  const body = awaitBody(request, intakeOf(Buffer.byteLength(text)));
  const leftListeners = () => listened.map((event, n) => request.listenerCount(event) - (listenersBefore[n] ?? 0));
  return { request, body, leftListeners };
}

describe('a plain body that is still to come', () => {
  it('is gathered from its pieces', async () => {
    const text = '{"model":"é","n":1}';
    const { request, body, leftListeners } = setUp(text);
    for (const byte of Buffer.from(text)) request.push(Buffer.of(byte));
    request.push(null);
    const { bytes } = await body;
    expect(Buffer.from(bytes).toString()).toBe(text);
    expect((await body).value('n')).toBe(1);
    expect(leftListeners()).toEqual([0, 0, 0, 0]);
  });

  it('is held back while it waits for its turn, and whole in the end', async () => {
    const text = JSON.stringify({ text: 'x'.repeat(3 * 1024 * 1024) });
    const { request, body, leftListeners } = setUp(text);
    let pauses = 0;
    request.on('pause', () => (pauses += 1));
    for (let start = 0; start < text.length; start += 65_536)
      request.push(Buffer.from(text.slice(start, start + 65_536)));
    request.push(null);
    expect((await body).bytes.equals(Buffer.from(text))).toBe(true);
    expect(pauses).toBeGreaterThan(5);
    expect(leftListeners()).toEqual([0, 0, 0, 0]);
  });

  it('is refused as soon as it can be no JSON', async () => {
    const { request, body, leftListeners } = setUp('{"a":1}');
    request.push(Buffer.from('{a'));
    await expect(body).rejects.toMatchObject({ code: 'invalid_json' });
    expect(leftListeners()).toEqual([0, 0, 0, 0]);
  });

  it('is refused when it ends within a value', async () => {
    const { request, body } = setUp('{"a":1');
    request.push(Buffer.from('{"a":1'));
    request.push(null);
    await expect(body).rejects.toMatchObject({ code: 'invalid_json' });
  });

  it.each([
    ['breaks off', (request: IncomingMessage) => void request.destroy(new Error('aborted'))],
    ['is cut without a word', (request: IncomingMessage) => void request.emit('close')],
  ])('is told as broken when the upload %s', async (_how, end) => {
    const { request, body, leftListeners } = setUp('{"a":1}');
    request.push(Buffer.from('{"a"'));
    end(request);
    await expect(body).rejects.toMatchObject({ code: 'invalid_body' });
    expect(leftListeners().slice(0, 2)).toEqual([0, 0]);
  });
});
