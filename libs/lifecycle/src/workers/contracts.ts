import type { CallInBytes } from '@gateway/rpc';
import type { MetricsSnapshot } from '@gateway/telemetry';

/** What a worker may be asked by the primary process. */
export interface WorkerContract {
  /** Its metrics, as data. */
  metrics(about: undefined): Promise<MetricsSnapshot>;
  /** An RPC of those that it serves. */
  call(call: CallInBytes): Promise<Uint8Array>;
  /** To take nothing new, let running work end within so many milliseconds, and leave. Answered at once. */
  drain(timeoutMs: number): void;
}

/** What the primary process may be asked, or is told, by a worker. */
export interface PrimaryContract {
  /** The worker serves, on this port. */
  serving(port: number): void;
  /** The worker could not start, for this reason. */
  failed(reason: string): void;
  /** An RPC that the primary process offers to its workers. */
  call(call: CallInBytes): Promise<Uint8Array>;
}
