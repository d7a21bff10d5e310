import { expect, it } from 'vitest';
import { errorRecord } from './logger.ts';

it('says what went wrong and why, without the data that a library hangs on its error', () => {
  const cause = Object.assign(new Error('connect refused'), { parameters: ['gw_s_secret'] });
  const fault = Object.assign(new TypeError('not written', { cause }), {
    code: 'ECONNREFUSED',
    command: { name: 'set', args: ['gw_s_secret'] },
  });
  const record = errorRecord(fault);
  expect(record).toMatchObject({ type: 'TypeError', message: 'not written: connect refused', code: 'ECONNREFUSED' });
  expect(record).toHaveProperty('stack', expect.stringContaining('caused by: Error: connect refused'));
  expect(JSON.stringify(record)).not.toContain('gw_s_secret');
});

it('says what each of several errors was', () => {
  const inner = Object.assign(new Error('one'), { detail: 'gw_s_secret' });
  const record = errorRecord(new AggregateError([inner], 'all failed'));
  expect(record).toMatchObject({ message: 'all failed', aggregateErrors: [{ message: 'one' }] });
  expect(JSON.stringify(record)).not.toContain('gw_s_secret');
});

it('shows what is thrown besides errors as far as it is plain', () => {
  expect(errorRecord('late')).toBe('late');
  expect(errorRecord({ token: 'gw_s_secret' })).toBe('not an Error');
});
