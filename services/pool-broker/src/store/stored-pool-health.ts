import { z } from 'zod';
import { type PoolHealth, untroubled } from '../health/pool-health.ts';
import { parseJson } from './parse-json.ts';

/** A pool's health as Redis keeps it. */
export function toStoredPoolHealth(health: PoolHealth): string {
  return JSON.stringify(health);
}

/** What Redis kept. Anything that can't be read is no trouble: the next failures will tell. */
export function fromStoredPoolHealth(text: string | null): PoolHealth {
  if (text === null || text === '') return untroubled;
  return storedPoolHealth.safeParse(parseJson(text)).data ?? untroubled;
}

const storedPoolHealth = z.object({
  troubles: z.array(
    z.object({
      cause: z.enum(['overloaded', 'network_error']),
      model: z.string(),
      sinceMs: z.number(),
      failures: z.array(z.object({ accountId: z.string(), atMs: z.number() })),
      pause: z
        .object({
          sinceMs: z.number(),
          untilMs: z.number(),
          strikes: z.number(),
          probe: z.object({ leaseId: z.string(), expiresAtMs: z.number() }).optional(),
        })
        .optional(),
    }),
  ),
});
