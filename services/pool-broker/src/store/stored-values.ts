import { z } from 'zod';
import type { ModelReport } from '../catalog/model-report.ts';
import { type AccountHealth, forgottenAtMs, forgottenProblemAtMs, healthy } from '../health/account-health.ts';
import { forgottenTroubleAtMs, type PoolHealth, untroubled } from '../health/pool-health.ts';

/** How a value is kept as JSON text in Redis. */
export interface StoredValue<T> {
  /** Text that can't be read, or none, is the value without any faults: the next failures will show. */
  readonly read: (text: string | null) => T;
  /** When it means nothing any more. */
  readonly endsAtMs: (value: T) => number;
}

export const storedHealth: StoredValue<AccountHealth> = {
  read: (text) => fromJson(accountHealth, text) ?? healthy,
  endsAtMs: ({ windows, cooldowns, errorsAtMs, problem }) =>
    Math.max(
      errorsAtMs + hourMs,
      ...cooldowns.map(forgottenAtMs),
      ...windows.map(({ resetsAtMs, seenAtMs }) => resetsAtMs ?? seenAtMs + hourMs),
      problem === undefined ? 0 : forgottenProblemAtMs(problem),
    ),
};

export const storedPoolHealth: StoredValue<PoolHealth> = {
  read: (text) => fromJson(poolHealth, text) ?? untroubled,
  endsAtMs: ({ troubles }) => Math.max(0, ...troubles.map(forgottenTroubleAtMs)),
};

const hourMs = 3_600_000;

/** A report as the fields of a Redis hash. Without models the field of the last list is left alone. */
export function toStoredReport({ reportedAtMs, reachable, refreshMs = 0, models }: ModelReport) {
  const fields = { reported_at_ms: reportedAtMs, reachable: reachable ? 1 : 0, refresh_ms: refreshMs };
  return models === undefined ? fields : { ...fields, models: JSON.stringify(models) };
}

/** Undefined for nothing, or nothing that can be read. */
export function fromStoredReport(pool: string, fields: Readonly<Record<string, string>>): ModelReport | undefined {
  const found = report.safeParse(fields).data;
  if (found === undefined) return undefined;
  const models = found.models === undefined ? undefined : fromJson(modelList, found.models);
  return {
    pool,
    reportedAtMs: found.reported_at_ms,
    reachable: found.reachable === '1',
    refreshMs: found.refresh_ms || undefined,
    models,
  };
}

function fromJson<T>(schema: z.ZodType<T>, text: string | null): T | undefined {
  if (text === null || text === '') return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

const probe = z.object({ leaseId: z.string(), expiresAtMs: z.number() }).optional();

const accountHealth: z.ZodType<AccountHealth> = z.object({
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
      probe,
    }),
  ),
  windows: z.array(
    z.object({
      name: z.string(),
      models: z.string(),
      usedFraction: z.number(),
      resetsAtMs: z.number().optional(),
      lengthMs: z.number().optional(),
      seenAtMs: z.number(),
    }),
  ),
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

const poolHealth: z.ZodType<PoolHealth> = z.object({
  troubles: z.array(
    z.object({
      cause: z.enum(['overloaded', 'network_error']),
      model: z.string(),
      sinceMs: z.number(),
      failures: z.array(z.object({ accountId: z.string(), atMs: z.number() })),
      pause: z.object({ sinceMs: z.number(), untilMs: z.number(), strikes: z.number(), probe }).optional(),
    }),
  ),
});

const modelList = z.array(z.object({ id: z.string(), displayName: z.string() }));

const report = z.object({
  reported_at_ms: z.coerce.number(),
  reachable: z.enum(['0', '1']),
  /** 0: not known. */
  refresh_ms: z.coerce.number().default(0),
  models: z.string().optional(),
});
