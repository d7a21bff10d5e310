import { expect, it } from 'vitest';
import { readableLine } from './readable-line.ts';

const time = '2026-11-23T08:18:34.441Z';
const clock = new Date(time).toLocaleTimeString('en-GB');
const shown = (record: object) => readableLine(JSON.stringify({ level: 40, time, service: 'gateway', ...record }));

it('has the time of day, the level, the words and the details', () => {
  expect(shown({ subject: 'pool messages', count: 3, msg: 'model lists are late' })).toBe(
    `${clock} warn  model lists are late  subject="pool messages" count=3`,
  );
  expect(shown({ level: 30, msg: 'stopped' })).toBe(`${clock} info  stopped`);
});

it('has what an error says, and where it came from when somebody has to look', () => {
  const err = { type: 'Error', message: 'no space left', stack: 'Error: no space left\n    at write' };
  expect(shown({ err, msg: 'not written' })).toBe(`${clock} warn  not written  err="no space left"`);
  expect(shown({ level: 50, err, msg: 'not written' })).toContain(
    'err="no space left"\nError: no space left\n    at write',
  );
});

it('has nothing that a terminal obeys', () => {
  expect(shown({ model: '\u001b[2Jgpt', msg: 'unknown\u001b[31m model' })).not.toContain('\u001b');
});

it('leaves what is no line of the log as it is', () => {
  for (const line of ['Segmentation fault', '{"a":1}', '{half a line', '']) expect(readableLine(line)).toBe(line);
});
