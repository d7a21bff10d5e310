import { createHash } from 'node:crypto';
import type { DeadLetter } from '../store/usage-ledger.ts';

/** Bytes that can't be understood, ready to be kept. */
export function toDeadLetter(payload: Uint8Array, reason: string, nowMs: number): DeadLetter {
  return {
    dead_letter_id: createHash('sha256').update(payload).digest('hex'),
    received_at_ms: nowMs,
    reason,
    payload: Buffer.from(payload).toString('base64'),
  };
}
