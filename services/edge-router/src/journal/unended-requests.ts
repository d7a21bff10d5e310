import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { asCut, decodeRecord } from './journal-record.ts';
import type { OpenRequestTracker } from './read-finals.ts';

interface OpenLine<Place> {
  readonly line: string;
  readonly place: Place;
}

/** The requests of a dead owner that have begun, and have not ended as far as has been read. */
export class UnendedRequests<Place> {
  readonly #lines = new Map<string, OpenLine<Place>>();

  /** Follows the lines of one place. Lines are decoded only when it turns out that nothing ends their request. */
  in(place: Place): OpenRequestTracker {
    return {
      opened: (line) => {
        const requestId = requestIdOf(line);
        if (requestId !== undefined) this.#lines.set(requestId, { line, place });
        return requestId !== undefined;
      },
      ended: (requestId) => void this.#lines.delete(requestId),
    };
  }

  /** True when the last word on one of them stands there. */
  isNeeded(place: Place): boolean {
    for (const each of this.#lines.values()) if (each.place === place) return true;
    return false;
  }

  /** What is booked for them, and which of their lines turn out to be damaged. */
  cut(onDamage: (place: Place) => void): readonly UsageRecorded[] {
    return [...this.#lines.values()].flatMap(({ line, place }) => {
      const record = decodeRecord(line);
      if (record?.kind === 'open') return [asCut(record.event)];
      onDamage(place);
      return [];
    });
  }

  clear(): void {
    this.#lines.clear();
  }
}

function requestIdOf(openLine: string): string | undefined {
  const [, requestId] = /^O \{"requestId":"([^"\\]+)"/.exec(openLine) ?? [];
  if (requestId !== undefined) return requestId;
  const record = decodeRecord(openLine);
  return record?.kind === 'open' ? record.event.requestId : undefined;
}
