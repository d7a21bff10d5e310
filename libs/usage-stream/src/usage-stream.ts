import {
  DiscardPolicy,
  type JetStreamManager,
  NatsError,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from 'nats';

/** The names of the stream, its subject and its consumer. */
export interface UsageStreamNames {
  readonly stream: string;
  readonly subject: string;
  readonly consumer: string;
}

export const usageStreamNames: UsageStreamNames = {
  stream: 'USAGE',
  subject: 'usage.recorded',
  consumer: 'usage-ingest',
};

/**
 * The subject of requests to store a message directly, without the stream. It is not a subject of
 * the stream.
 */
export function directSubject({ subject }: UsageStreamNames): string {
  return `${subject}.direct`;
}

export interface UsageStreamSettings {
  /** The number of copies in NATS: 1, or 3 in a cluster. */
  readonly replicas: number;
  /** How long messages are kept. */
  readonly maxAgeMs: number;
  /**
   * The maximum size of the stream. Beyond it new messages are rejected, and the edges keep them.
   */
  readonly maxBytes: number;
  /** How long NATS detects duplicates. The ledger detects them forever. */
  readonly duplicateWindowMs: number;
}

/** Creates the stream or updates its settings. Any number of processes may do so at once. */
export async function ensureUsageStream(
  manager: JetStreamManager,
  settings: UsageStreamSettings,
  names: UsageStreamNames,
): Promise<void> {
  const config: Partial<StreamConfig> & { name: string } = {
    name: names.stream,
    subjects: [names.subject],
    storage: StorageType.File,
    // Not a work queue, because that forgets the ids of consumed messages when the server restarts.
    retention: RetentionPolicy.Limits,
    // Old messages may not be consumed yet; a publisher that is refused keeps the new ones.
    discard: DiscardPolicy.New,
    num_replicas: settings.replicas,
    max_age: nanos(settings.maxAgeMs),
    max_bytes: settings.maxBytes,
    duplicate_window: nanos(settings.duplicateWindowMs),
    // Lets any server with a copy return single messages, even while the consumer has no leader.
    allow_direct: true,
  };
  await manager.streams.add(config).catch(async (thrown: unknown) => {
    // JSStreamNameExistErr: a stream of this name exists with other settings.
    if (!(thrown instanceof NatsError) || thrown.api_error?.err_code !== 10_058) throw thrown;
    await manager.streams.update(names.stream, config);
  });
}
