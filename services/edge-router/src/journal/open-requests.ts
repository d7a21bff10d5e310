import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { encodeRecord } from './journal-record.ts';

interface OpenRequest {
  readonly event: UsageRecorded;
  /** Whether its open line may stand on disk. */
  readonly onDisk: boolean;
}

/** The lines with which a new segment makes older ones dispensable. */
export interface HandedOver {
  readonly lines: string;
  /** To be called when they are written. */
  readonly onWritten: () => void;
}

/** The requests that have begun and not ended, and those that the disk wrongly holds for such. */
export class OpenRequests {
  readonly #open = new Map<string, OpenRequest>();
  readonly #wronglyOpen = new Set<string>();

  get isEmpty(): boolean {
    return this.#open.size === 0 && this.#wronglyOpen.size === 0;
  }

  /** True when the disk has to be told of an end that it could not be told of when it came. */
  get owesVoids(): boolean {
    return this.#wronglyOpen.size > 0;
  }

  begin(event: UsageRecorded, onDisk: boolean): void {
    const before = this.#open.get(event.requestId);
    this.#open.set(event.requestId, { event, onDisk: onDisk || before?.onDisk === true });
  }

  /** True when its open line may stand on disk, which then has to be told of its end. */
  end(requestId: string): boolean {
    const request = this.#open.get(requestId);
    this.#open.delete(requestId);
    return request?.onDisk === true;
  }

  /** Its end could not be written: the next segment tells it. */
  endNotWritten(requestId: string): void {
    this.#wronglyOpen.add(requestId);
  }

  handOver(): HandedOver {
    const voids = [...this.#wronglyOpen];
    const opens = [...this.#open.values()].map(({ event }) => event);
    for (const event of opens) this.#open.set(event.requestId, { event, onDisk: true });
    const lines = [
      ...voids.map((requestId) => encodeRecord({ kind: 'void', requestId })),
      ...opens.map((event) => encodeRecord({ kind: 'open', event })),
    ];
    return {
      lines: lines.join(''),
      onWritten: () => {
        for (const requestId of voids) this.#wronglyOpen.delete(requestId);
      },
    };
  }
}
