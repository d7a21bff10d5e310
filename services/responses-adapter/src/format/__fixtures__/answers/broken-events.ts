import { text } from '@gateway/testkit/adapters';
import { type CaseEvents, type ResponsesAnswer, textDelta } from './events.ts';
import { serverError } from './failures.ts';
import { completed, created } from './responses.ts';
import { altered, json, lines, without } from './unusual-frames.ts';

/** An answer that can't be read any further once this came: what follows is not read. */
function broken(name: string, frames: CaseEvents, everySplit?: true): ResponsesAnswer {
  return {
    name,
    everySplit,
    events: [created(), textDelta('Half'), ...frames, textDelta(' more'), completed()],
    deltas: [text('Half')],
    ending: serverError,
  };
}

export const brokenEventCases: readonly ResponsesAnswer[] = [
  broken('JSON that breaks off', ['data: {"type":"response.output_text.delta","delta":"x\n\n'], true),
  broken('JSON with a comma too many', [json('{"type":"response.in_progress",}')]),
  broken('data that is a list', [json('[{"type":"response.in_progress"}]')]),
  broken('data that is a number', [json('12')]),
  broken('data that is a text', [json('"response.in_progress"')]),
  broken('data that is null', [json('null')]),
  broken('data that is HTML', [lines('data: <!doctype html>', 'data: <title>502</title>')]),
  broken('two values in one event', [lines('data: {"type":"response.in_progress"}', 'data: {"type":"keepalive"}')]),
  broken('a delta of text without text', [without(textDelta('x'), 'delta')]),
  broken('a delta of text that is null', [altered(textDelta('x'), { delta: null })]),
  broken('a delta of text that is an object', [altered(textDelta('x'), { delta: { text: 'x' } })]),
  broken('a delta of a refusal without text', [json('{"type":"response.refusal.delta"}')]),
  broken('a delta of arguments without text', [json('{"type":"response.function_call_arguments.delta"}')]),
  {
    name: 'a stream cut within an event',
    everySplit: true,
    events: [created(), textDelta('Half'), 'event: response.output_text.delta\ndata: {"type":"response.outp'],
    deltas: [text('Half')],
    ending: serverError,
  },
  {
    name: 'a stream cut within its last event',
    events: [created(), textDelta('Half'), 'data: {"type":"response.completed","response":{"status":"completed"'],
    deltas: [text('Half')],
    ending: serverError,
  },
  {
    name: 'a stream cut within a character',
    events: [created(), textDelta('Half'), 'data: {"type":"response.output_text.delta","delta":"\ufffd'],
    deltas: [text('Half')],
    ending: serverError,
  },
  {
    name: 'a stream cut after the name of its last event',
    events: [created(), textDelta('Half'), 'event: response.completed\n'],
    deltas: [text('Half')],
    ending: serverError,
  },
  {
    name: 'an error body in place of a stream',
    events: ['{"error":{"type":"server_error","message":"x"}}'],
    deltas: [],
    ending: serverError,
  },
  {
    name: 'an HTML page in place of a stream',
    events: ['<!doctype html>\n<title>502 Bad Gateway</title>\n\n<p>x</p>\n'],
    deltas: [],
    ending: serverError,
  },
];
