import { framed, text } from '@gateway/testkit/adapters';
import { type CaseEvents, type ResponsesAnswer, textDelta } from './events.ts';
import { serverError } from './failures.ts';
import { completed, created } from './responses.ts';
import { json, lines, without } from './unusual-frames.ts';

/** The same short answer, however it is framed. */
function greeting(name: string, events: CaseEvents, everySplit?: true): ResponsesAnswer {
  return { name, events, everySplit, deltas: [text('Grüße, '), text('Welt.')], ending: 'stop' };
}

const plain = [created(), textDelta('Grüße, '), textDelta('Welt.'), completed()];
const [begins, hello, world, ends] = [created(), textDelta('Grüße, '), textDelta('Welt.'), completed()];
const inJson = (event: object) => JSON.stringify(event);

export const framingCases: readonly ResponsesAnswer[] = [
  greeting('lines that end in CR LF', [framed(plain).replaceAll('\n', '\r\n')], true),
  greeting('lines that end in CR', [framed(plain).replaceAll('\n', '\r')], true),
  greeting('lines that end in all three ways', [
    framed([begins]),
    framed([hello]).replaceAll('\n', '\r\n'),
    framed([world]).replaceAll('\n', '\r'),
    framed([ends]),
  ]),
  greeting('a byte order mark at the start', [`\ufeff${framed(plain)}`], true),
  greeting('comments between events', [': open\n\n', begins, ': keep-alive\n\n', hello, ':\n\n', world, ends], true),
  greeting(
    'comments within events',
    plain.map((event) => lines(': a', `event: ${event.type}`, ': b', `data: ${inJson(event)}`, ':')),
    true,
  ),
  greeting(
    'no space after the colon',
    plain.map((event) => lines(`event:${event.type}`, `data:${inJson(event)}`)),
    true,
  ),
  greeting(
    'events without a name',
    plain.map((event) => json(inJson(event))),
  ),
  greeting(
    'names after the data',
    plain.map((event) => lines(`data: ${inJson(event)}`, `event: ${event.type}`)),
  ),
  greeting(
    'names that contradict the data, which counts',
    plain.map((event) => lines('event: response.failed', `data: ${inJson(event)}`)),
  ),
  greeting(
    'data without a type, where the name counts',
    plain.map((event) => without(event, 'type').replace('event: undefined', `event: ${event.type}`)),
  ),
  greeting(
    'ids and times to retry',
    plain.map((event, index) => lines(`id: ${index}`, 'retry: 3000', `data: ${inJson(event)}`)),
  ),
  greeting(
    'fields that are not known and a field without a colon',
    plain.map((event) => lines('colour: red', 'flavour', `data: ${inJson(event)}`)),
  ),
  greeting(
    'data of several lines',
    plain.map((event) =>
      lines(
        ...JSON.stringify(event, null, 1)
          .split('\n')
          .map((line) => `data: ${line}`),
      ),
    ),
    true,
  ),
  greeting(
    'several blank lines between events',
    plain.map((event) => `\n\n${framed([event])}\n`),
  ),
  greeting(
    'white space around the JSON',
    plain.map((event) => json(`  \t${inJson(event)}  `)),
  ),
  greeting(
    'the type as the last member',
    plain.map(({ type, ...members }) => json(inJson({ ...members, type }))),
  ),
  greeting(
    'the type written with escapes',
    plain.map((event) => json(inJson(event).replaceAll('response.', 'response\\u002e'))),
    true,
  ),
  greeting('[DONE] after the end', [...plain, 'data: [DONE]\n\n'], true),
  greeting('[DONE] before the end, which says nothing', [begins, hello, 'data: [DONE]\n\n', world, ends]),
  greeting('events without data', [
    begins,
    'event: ping\n\n',
    hello,
    'data\n\n',
    'data:\n\n',
    'data: \n\n',
    world,
    ends,
  ]),
  greeting('a last event without a blank line', [begins, hello, world, framed([ends]).trimEnd()], true),
  {
    name: 'the type of a failure only in the name of the event',
    events: [lines('event: response.failed', 'data: {"response":{"error":{"code":"server_error"}}}')],
    deltas: [],
    ending: serverError,
  },
];
