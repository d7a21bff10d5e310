import type { UsageStreamSettings } from '../src/index.ts';

export const smallStream: UsageStreamSettings = {
  replicas: 1,
  maxAgeMs: 3_600_000,
  maxBytes: 1024 * 1024 * 1024,
  duplicateWindowMs: 600_000,
};
