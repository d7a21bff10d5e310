import {
  DiscardPolicy,
  type JetStreamManager,
  NatsError,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from 'nats';

/** What the stream, its subject and its consumer are called. */
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

/** Where a message is asked to be stored straight away, without the stream. Not a subject of the stream. */
export function directSubject({ subject }: UsageStreamNames): string {
  return `${subject}.direct`;
}

export interface UsageStreamSettings {
  /** Copies that NATS keeps: 1, or 3 in a cluster. */
  readonly replicas: number;
  /** How long messages are kept. */
  readonly maxAgeMs: number;
  /** What the stream may hold; beyond it nothing new is taken, and the edges keep it. */
  readonly maxBytes: number;
  /** How long NATS recognises a repeated message. The ledger recognises it for ever. */
  readonly duplicateWindowMs: number;
}

/** Makes the stream, or brings its settings up to date. Any number of processes may do so at once. */
export async function ensureUsageStream(
  manager: JetStreamManager,
  settings: UsageStreamSettings,
  names: UsageStreamNames,
): Promise<void> {
  const config: Partial<StreamConfig> & { name: string } = {
    name: names.stream,
    subjects: [names.subject],
    storage: StorageType.File,
    // Not a work queue: that forgets the ids of consumed messages when the server restarts.
    retention: RetentionPolicy.Limits,
    // Old messages may not be consumed yet; a publisher that is refused keeps the new ones.
    discard: DiscardPolicy.New,
    num_replicas: settings.replicas,
    max_age: nanos(settings.maxAgeMs),
    max_bytes: settings.maxBytes,
    duplicate_window: nanos(settings.duplicateWindowMs),
    // Any server that has a copy gives single messages, also while the consumer has no leader.
    allow_direct: true,
  };
  await manager.streams.add(config).catch(async (thrown: unknown) => {
    // JSStreamNameExistErr: there is a stream of the name, with other settings.
    if (!(thrown instanceof NatsError) || thrown.api_error?.err_code !== 10_058) throw thrown;
    await manager.streams.update(names.stream, config);
  });
}
