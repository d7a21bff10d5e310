import { expect } from 'vitest';
import { type ContractCase, providerWords } from './contract-case.ts';
import { objectOf } from './openapi-document.ts';

/** One server-sent event. */
export interface StreamEvent {
  /** Undefined for events without a name. */
  readonly name: string | undefined;
  /** Parsed if it is JSON. */
  readonly data: unknown;
}

/** Checks every event of a stream, their order, and the end of the stream. */
export function checkEvents(
  { route, cell }: ContractCase,
  text: string,
  problems: (data: unknown) => readonly string[],
): void {
  const events = readEvents(text);
  for (const { data } of events) expect(problems(data), JSON.stringify(data)).toEqual([]);
  const breaksOff = cell === 'stream that breaks off';
  const isChat = route.endsWith('/chat/completions');
  if (isChat) checkChunks(events, breaksOff);
  else checkNamedEvents(events, route.endsWith('/messages') ? messagesEnding : responsesEnding, breaksOff);
  if (!route.endsWith('/responses')) expect(text).not.toContain(providerWords);
}

/**
 * The events of a whole stream. Throws if something is no event, or the last event is incomplete.
 */
export function readEvents(text: string): readonly StreamEvent[] {
  if (!text.endsWith('\n\n')) throw new Error(`the stream ends within an event: ${text.slice(-200)}`);
  return text
    .slice(0, -2)
    .split('\n\n')
    .filter((event) => !event.startsWith(':'))
    .map((event) => {
      const [, name, data = ''] = /^(?:event: (.+)\n)?data: (.*)$/.exec(event) ?? [];
      if (data === '') throw new Error(`no event: ${event}`);
      return { name, data: data === '[DONE]' ? data : JSON.parse(data) };
    });
}

interface Ending {
  readonly completed: readonly string[];
  readonly failed: readonly string[];
}

const messagesEnding: Ending = { completed: ['message_stop'], failed: ['error'] };
const responsesEnding: Ending = { completed: ['response.completed'], failed: ['response.failed'] };

/**
 * Named events, each with its name as the type in its data; exactly one of them ends the stream.
 */
function checkNamedEvents(events: readonly StreamEvent[], ending: Ending, breaksOff: boolean): void {
  for (const { name, data } of events) expect(objectOf(data).type).toBe(name);
  expect(events.length).toBeGreaterThan(2);
  const last = events.at(-1)?.name ?? '';
  expect(breaksOff ? ending.failed : ending.completed).toContain(last);
  const ends = events.filter(({ name = '' }) => [...ending.completed, ...ending.failed].includes(name));
  expect(ends).toHaveLength(1);
}

function checkChunks(events: readonly StreamEvent[], breaksOff: boolean): void {
  expect(events.every(({ name }) => name === undefined)).toBe(true);
  const data = events.map((event) => event.data);
  expect(choiceOf(data[0])).toEqual({ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null });
  if (breaksOff) {
    expect(data.at(-1)).toHaveProperty('error');
    expect(data.slice(0, -1).every((event) => choiceOf(event)?.finish_reason === null)).toBe(true);
    return;
  }
  expect(data.at(-1)).toBe('[DONE]');
  const chunks = data.slice(0, -1);
  const closing = chunks.findIndex((chunk) => choiceOf(chunk)?.finish_reason !== null);
  expect(choiceOf(chunks[closing])?.delta).toEqual({});
  const afterClosing = chunks.slice(closing + 1);
  expect(afterClosing.every((chunk) => choiceOf(chunk) === undefined)).toBe(true);
  expect(afterClosing.length).toBeLessThanOrEqual(1);
  expect(new Set(chunks.map((chunk) => objectOf(chunk).id)).size).toBe(1);
}

function choiceOf(chunk: unknown): Readonly<Record<string, unknown>> | undefined {
  const { choices } = objectOf(chunk);
  const [first] = Array.isArray(choices) ? choices : [];
  return first === undefined ? undefined : objectOf(first);
}
