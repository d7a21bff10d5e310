import { ConfigError } from '@gateway/config';
import { describe, expect, it } from 'vitest';
import { readUsageIngestConfig, readUsageIngestProcessConfig } from './config.ts';

describe('usage-ingest settings', () => {
  it('have defaults for everything when embedded', () => {
    expect(readUsageIngestConfig({})).toEqual({ batchEvents: 500, retentionDays: 90, logRetentionDays: 7 });
  });

  it('keep events for ever, or longer than any repetition may come late', () => {
    const read = (days: string) => readUsageIngestConfig({ USAGE_EVENT_RETENTION_DAYS: days }).retentionDays;
    expect(read('0')).toBe(0);
    expect(read('31')).toBe(31);
    for (const days of ['30', '1', '-1', 'long']) expect(() => read(days)).toThrow('USAGE_EVENT_RETENTION_DAYS');
  });

  it('name both URLs that a process needs', () => {
    expect(() => readUsageIngestProcessConfig({})).toThrow(ConfigError);
    for (const name of ['DATABASE_URL', 'NATS_URL']) expect(() => readUsageIngestProcessConfig({})).toThrow(name);
  });

  it('read the size of the stream in the units of their names', () => {
    const { stream } = readUsageIngestProcessConfig({
      DATABASE_URL: 'postgres://127.0.0.1/gateway',
      NATS_URL: 'nats://127.0.0.1',
      USAGE_STREAM_MAX_AGE_HOURS: '2',
      USAGE_STREAM_MAX_MEBIBYTES: '3',
    });
    expect(stream).toEqual({ replicas: 1, maxAgeMs: 7_200_000, maxBytes: 3_145_728, duplicateWindowMs: 600_000 });
  });
});
