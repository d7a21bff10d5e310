import { Code, ConnectError } from '@connectrpc/connect';
import { expect, it } from 'vitest';
import { isToCome, mostTries, waitMs } from './use-request.ts';

const nowMs = Date.parse('2026-11-23T10:00:00Z');
const missing = new ConnectError('There is no such request.', Code.NotFound);

function idMadeAt(ms: number): string {
  const digits = ms.toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000001`;
}

it('a request of the last hour may be in the log in a moment, an older one will not', () => {
  expect(isToCome(idMadeAt(nowMs - 500), missing, nowMs)).toBe(true);
  expect(isToCome(`chatcmpl-${idMadeAt(nowMs - 1_800_000)}`, missing, nowMs)).toBe(true);
  expect(isToCome(idMadeAt(nowMs + 2_000), missing, nowMs)).toBe(true);
  expect(isToCome(idMadeAt(nowMs - 7_200_000), missing, nowMs)).toBe(false);
});

it('does not wait for a text that is no request id, or for other errors', () => {
  expect(isToCome('team x', missing, nowMs)).toBe(false);
  expect(isToCome('chatcmpl-019', missing, nowMs)).toBe(false);
  expect(isToCome(idMadeAt(nowMs), new ConnectError('No.', Code.InvalidArgument), nowMs)).toBe(false);
});

it('asks often at first, then ever more seldom, and no longer than about a quarter of an hour', () => {
  const waits = Array.from({ length: mostTries }, (_, tries) => waitMs(tries));
  expect(waits[0]).toBe(750);
  expect(waits).toEqual(waits.toSorted((one, other) => one - other));
  expect(Math.max(...waits)).toBe(30_000);
  const minutes = waits.reduce((sum, wait) => sum + wait, 0) / 60_000;
  expect(minutes).toBeGreaterThan(10);
  expect(minutes).toBeLessThan(20);
});
