import { expect, it } from 'vitest';
import { figureText } from './figure-text.ts';

it('a figure has the unit that its name ends with', () => {
  expect(figureText('disk_free_bytes', 70_332_153_856)).toEqual({ name: 'disk free', text: '66\u00a0GiB' });
  expect(figureText('outbox_oldest_seconds', 1.009)).toEqual({ name: 'outbox oldest', text: '1.0\u00a0s' });
  expect(figureText('outbox_waiting_events', 12_300)).toEqual({ name: 'outbox waiting events', text: '12.3k' });
});
