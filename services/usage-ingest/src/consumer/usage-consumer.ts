import type { UsageRecorder } from '../recording/usage-recorder.ts';

/** Where events go. */
export type UsageSink = Pick<UsageRecorder, 'record' | 'bury'>;

/** What brings events by itself. */
export interface UsageConsumer extends AsyncDisposable {
  /** Begins in the background. Nothing is acknowledged before it is committed. */
  start(sink: UsageSink): void;
  /** Why nothing can be brought now; undefined when it can. */
  problem(): string | undefined;
  /** Takes nothing more, and resolves when what was taken is stored or given back. */
  drain(): Promise<void>;
}
