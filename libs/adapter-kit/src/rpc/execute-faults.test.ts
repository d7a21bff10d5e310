import type { ServerResponse } from 'node:http';
import { setTimeout as passed } from 'node:timers/promises';
import { Dialect } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AdapterUnderTest, send, startAdapter } from '../__fixtures__/adapter-under-test.ts';
import { event, fakeFormat } from '../__fixtures__/fake-format.ts';
import { eventStreamToBegin } from '../__fixtures__/fake-provider.ts';
import type { AnswerReader, FormatDefinition, Translator } from '../format-definition.ts';

let adapter: AdapterUnderTest;
afterEach(() => adapter[Symbol.asyncDispose]());

/** No failure within a call may end the process. */
const unhandled: unknown[] = [];
const noteUnhandled = (reason: unknown) => unhandled.push(reason);
beforeEach(() => {
  unhandled.length = 0;
  process.on('unhandledRejection', noteUnhandled).on('uncaughtException', noteUnhandled);
});
afterEach(() => {
  process.off('unhandledRejection', noteUnhandled).off('uncaughtException', noteUnhandled);
  expect(unhandled).toEqual([]);
});

describe('a fault of a reader fails its call', () => {
  it('as the answer goes on', async () => {
    adapter = await startAdapter({}, faulty(takingFails(1)));
    adapter.provider.answer = (response) => eventStreamToBegin(response).write(event.text('Hi'));
    expect(await notesOf()).toEqual(['failure: a fault']);
    await expect.poll(() => adapter.provider.calls[0]?.cutOff()).toBe(true);
  });

  it('as the answer ends', async () => {
    adapter = await startAdapter({}, faulty(takingFails(1)));
    adapter.provider.answer = (response) => eventStreamToBegin(response).end(event.text('Hi') + event.done);
    expect(await notesOf()).toEqual(['failure: a fault']);
  });

  it.each([
    ['the answer ends early', (response: ServerResponse) => response.end()],
    ['the connection is lost', (response: ServerResponse) => response.socket?.resetAndDestroy()],
  ])('as %s', async (_what, breakOff) => {
    adapter = await startAdapter({}, faulty(takingFails(2)));
    let provider: ServerResponse | undefined;
    adapter.provider.answer = (response) => {
      provider = eventStreamToBegin(response);
      provider.write(event.text('Hi'));
    };
    expect(await notesOf(() => provider && breakOff(provider))).toEqual(['head', 'failure: a fault']);
  });

  it('as the answer fails', async () => {
    adapter = await startAdapter({}, faulty(quotasFail));
    adapter.provider.answer = (response) => eventStreamToBegin(response).end(event.fail);
    expect(await notesOf()).toEqual(['usage', 'failure: a fault']);
  });
});

describe('a caller that leaves after a frame', () => {
  it('has nothing more made for it, which might fail', async () => {
    adapter = await startAdapter({}, faulty(quotasFail));
    adapter.provider.answer = (response) => eventStreamToBegin(response).end(event.fail);
    expect(await notesOf(() => 'leave')).toEqual(['usage']);
  });

  it('has the provider cut off, and counts once', async () => {
    adapter = await startAdapter();
    adapter.provider.answer = (response) => eventStreamToBegin(response).write(event.text('Hi'));
    expect(await notesOf(() => 'leave')).toEqual(['head']);
    await expect.poll(() => adapter.provider.calls[0]?.cutOff()).toBe(true);
    expect(await adapter.metrics.exposition()).toMatch(/attempts_total\{format="messages",result="cancelled"\} 1/);
  });
});

/** Throws the n-th time that it has something to take, and every time after. */
function takingFails(first: number): (answer: AnswerReader) => void {
  return (answer) => {
    const take = answer.take.bind(answer);
    let taken = 0;
    answer.take = () => {
      if (answer.hasContent) taken += 1;
      return taken >= first ? fail() : take();
    };
  };
}

function quotasFail(answer: AnswerReader): void {
  Object.defineProperty(answer, 'quotas', { get: fail });
}

function fail(): never {
  throw new Error('a fault');
}

/** The format of tests, with readers in which something is broken. */
function faulty(breakReader: (answer: AnswerReader) => void): FormatDefinition {
  const chat = fakeFormat.translators.get(Dialect.CHAT_COMPLETIONS);
  if (chat === undefined) throw new Error('The format of tests speaks no chat.');
  const prepare: Translator['prepare'] = (request) => {
    const call = chat.prepare(request);
    breakReader(call.answer);
    return call;
  };
  return { ...fakeFormat, translators: new Map([[Dialect.CHAT_COMPLETIONS, { prepare }]]) };
}

/**
 * The frames of a request, up to the end or until the test leaves, and whether anything fails
 * shortly afterwards.
 */
async function notesOf(onFrame: () => unknown = () => undefined): Promise<readonly string[]> {
  const notes: string[] = [];
  try {
    for await (const { head, result } of send(adapter)) {
      notes.push(result !== undefined ? 'result' : head !== undefined ? 'head' : 'usage');
      if (onFrame() === 'leave') break;
    }
  } catch (thrown) {
    notes.push(`failure: ${thrown instanceof Error ? thrown.message : thrown}`);
  }
  await expect.poll(() => adapter.metrics.exposition()).toMatch(/gateway_upstream_attempts_total\{.*\} 1/);
  await passed(20);
  return notes;
}
