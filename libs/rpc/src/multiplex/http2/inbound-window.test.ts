import { expect, it } from 'vitest';
import { InboundWindow } from './inbound-window.ts';
import { errorCode } from './protocol.ts';

it('gives back what came in steps of half its size', () => {
  const given: number[] = [];
  const window = new InboundWindow(100, (bytes) => given.push(bytes));
  for (const bytes of [30, 19, 1, 100, 49]) window.onReceived(bytes);
  expect(given).toEqual([50, 100]);
});

it('refuses what goes beyond it', () => {
  const window = new InboundWindow(100, () => undefined);
  window.onReceived(40);
  expect(() => window.onReceived(61)).toThrow(expect.objectContaining({ code: errorCode.flowControlError }));
});
