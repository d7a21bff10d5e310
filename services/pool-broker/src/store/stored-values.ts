import { z } from 'zod';
import type { ModelReport } from '../catalog/list-models.ts';
import {
  type AccountHealth,
  accountHealthSchema,
  forgottenAtMs,
  forgottenProblemAtMs,
  healthy,
} from '../health/account-health.ts';
import { forgottenIncidentAtMs, noIncidents, type PoolHealth, poolHealthSchema } from '../health/pool-health.ts';

/** How a value is kept as JSON text in Redis. */
export interface StoredValue<T> {
  /** Text that can't be read, or none, is the value without any faults: the next failures will show. */
  readonly read: (text: string | null) => T;
  /** When it means nothing any more. */
  readonly endsAtMs: (value: T) => number;
}

export const storedHealth: StoredValue<AccountHealth> = {
  read: (text) => fromJson(accountHealthSchema, text) ?? healthy,
  endsAtMs: ({ windows, cooldowns, errorsAtMs, problem }) =>
    Math.max(
      errorsAtMs + hourMs,
      ...cooldowns.map(forgottenAtMs),
      ...windows.map(({ resetsAtMs, seenAtMs }) => resetsAtMs ?? seenAtMs + hourMs),
      problem === undefined ? 0 : forgottenProblemAtMs(problem),
    ),
};

export const storedPoolHealth: StoredValue<PoolHealth> = {
  read: (text) => fromJson(poolHealthSchema, text) ?? noIncidents,
  endsAtMs: ({ incidents }) => Math.max(0, ...incidents.map(forgottenIncidentAtMs)),
};

const hourMs = 3_600_000;

/** A report as the fields of a Redis hash. Without models the field of the last list stays as it is. */
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

const modelList = z.array(z.object({ id: z.string(), displayName: z.string() }));

const report = z.object({
  reported_at_ms: z.coerce.number(),
  reachable: z.enum(['0', '1']),
  /** 0: not known. */
  refresh_ms: z.coerce.number().default(0),
  models: z.string().optional(),
});
