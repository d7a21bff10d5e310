import { z } from 'zod';
import type { ModelReport } from '../catalog/model-report.ts';
import { parseJson } from './parse-json.ts';

/** A report as the fields of a Redis hash. Without models the field of the last list is left alone. */
export function toStoredReport({
  reportedAtMs,
  reachable,
  refreshMs = 0,
  models,
}: ModelReport): Record<string, string> {
  const fields = {
    reported_at_ms: String(reportedAtMs),
    reachable: reachable ? '1' : '0',
    refresh_ms: String(refreshMs),
  };
  return models === undefined ? fields : { ...fields, models: JSON.stringify(models) };
}

/** What Redis kept of a pool. Undefined for nothing, or nothing that can be read. */
export function fromStoredReport(pool: string, fields: Readonly<Record<string, string>>): ModelReport | undefined {
  const found = storedReport.safeParse(fields).data;
  if (found === undefined) return undefined;
  const { reported_at_ms: reportedAtMs, refresh_ms: refreshMs } = found;
  return { pool, reportedAtMs, reachable: found.reachable === '1', refreshMs, models: found.models };
}

const models = z.array(z.object({ id: z.string(), displayName: z.string() }));

const storedReport = z.object({
  reported_at_ms: z.coerce.number(),
  reachable: z.enum(['0', '1']),
  // 0, or none in what an earlier version kept: not known.
  refresh_ms: z.coerce
    .number()
    .optional()
    .transform((refreshMs) => refreshMs || undefined),
  models: z.string().transform(parseJson).pipe(models).optional(),
});
