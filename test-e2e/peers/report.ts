import { z } from 'zod';

const row = z.object({
  endpoint: z.string(),
  level: z.string(),
  kept: z.int(),
  broken: z.int(),
  skipped: z.int(),
});

const system = z.object({
  name: z.string(),
  /** The npm package; null for this gateway. */
  package: z.string().nullable(),
  version: z.string(),
  setUp: z.array(z.string()),
  claims: z.array(z.object({ endpoint: z.string(), documentation: z.string() })),
  startCommand: z.string(),
  conformanceCommands: z.array(z.string()),
  rows: z.array(row),
  broken: z.array(z.object({ check: z.string(), rule: z.string(), source: z.string(), found: z.string() })),
  skipped: z.array(z.object({ why: z.string(), checks: z.array(z.string()) })),
});

/** The results of `npm run conformance:peers`: `docs/reference/conformance.json`. */
export const peersReport = z.object({
  date: z.iso.date(),
  command: z.string(),
  node: z.string(),
  systems: z.array(system),
  leftOut: z.array(z.object({ name: z.string(), version: z.string(), why: z.string() })),
});

export type PeersReport = Readonly<z.infer<typeof peersReport>>;
export type SystemReport = PeersReport['systems'][number];
