import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { openLine, voidLine } from './journal-record.ts';

/** The lines with which a new segment makes older ones dispensable. */
export interface HandedOver {
  readonly lines: string;
  /** To be called when they are written. */
  readonly onWritten: () => void;
}

/** The requests that have begun and not ended, and those that the disk wrongly holds for such. */
export class OpenRequests {
  readonly #open = new Map<string, UsageRecorded>();
  /** Those of them whose open line stands nowhere on disk: none, while it takes lines. */
  readonly #withoutLine = new Set<string>();
  readonly #wronglyOpen = new Set<string>();

  get isEmpty(): boolean {
    return this.#open.size === 0 && this.#wronglyOpen.size === 0;
  }

  /** True when the disk has to be told of an end that it could not be told of when it came. */
  get owesVoids(): boolean {
    return this.#wronglyOpen.size > 0;
  }

  /** @param onDisk whether the open line may stand there. */
  begin(event: UsageRecorded, onDisk: boolean): void {
    const { requestId } = event;
    const before = this.#open.get(requestId);
    if (onDisk) this.#withoutLine.delete(requestId);
    else if (before === undefined) this.#withoutLine.add(requestId);
    if (before !== event) this.#open.set(requestId, event);
  }

  /** True when its open line may stand on disk, which then has to be told of its end. */
  end(requestId: string): boolean {
    const wasOpen = this.#open.delete(requestId);
    return wasOpen && !this.#withoutLine.delete(requestId);
  }

  /** Its end could not be written: the next segment tells it. */
  endNotWritten(requestId: string): void {
    this.#wronglyOpen.add(requestId);
  }

  handOver(): HandedOver {
    const voids = [...this.#wronglyOpen];
    this.#withoutLine.clear();
    return {
      lines: [...voids.map(voidLine), ...[...this.#open.values()].map(openLine)].join(''),
      onWritten: () => {
        for (const requestId of voids) this.#wronglyOpen.delete(requestId);
      },
    };
  }
}
