import { z } from 'zod';
import { type AccountHealth, healthy } from '../health/account-health.ts';
import { parseJson } from './parse-json.ts';

/** A health as Redis keeps it. */
export function toStoredHealth(health: AccountHealth): string {
  return JSON.stringify(health);
}

/** What Redis kept. Anything that can't be read counts as healthy: the next failures will tell. */
export function fromStoredHealth(text: string | null): AccountHealth {
  if (text === null || text === '') return healthy;
  return storedHealth.safeParse(parseJson(text)).data ?? healthy;
}

const storedHealth = z.object({
  cooldowns: z.array(
    z.object({
      model: z.string(),
      reason: z.enum(['rate_limited', 'unauthorized', 'overloaded', 'server_error', 'network_error', 'timeout']),
      sinceMs: z.number(),
      untilMs: z.number(),
      givenByProvider: z.boolean(),
      strikes: z.number(),
      window: z.string().optional(),
      probeFromMs: z.number().optional(),
      probe: z.object({ leaseId: z.string(), expiresAtMs: z.number() }).optional(),
    }),
  ),
  windows: z
    .array(
      z.object({
        name: z.string(),
        models: z.string(),
        usedFraction: z.number(),
        resetsAtMs: z.number().optional(),
        lengthMs: z.number().optional(),
        seenAtMs: z.number(),
      }),
    )
    // What a replica of an earlier version wrote.
    .default([]),
  errorAverage: z.number(),
  errorsAtMs: z.number(),
  problem: z
    .object({
      kind: z.enum(['credential_revoked', 'account_disabled']),
      sinceMs: z.number(),
      credentialId: z.string(),
    })
    .optional(),
});
