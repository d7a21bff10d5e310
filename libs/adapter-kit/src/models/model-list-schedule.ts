import type { ListPoolsResponse, Pool } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';

/**
 * Which pools' lists are to be read when. The broker says how often, and is asked far more often than that, since its setting and
 * its pools may change at any time.
 */
export class Schedule {
  #refreshMs = defaultRefreshMs;
  #readAtMs = new Map<string, number>();

  /** Until the broker is asked again. */
  get pauseMs(): number {
    return Math.min(this.#refreshMs, longestPauseMs);
  }

  /** The pools whose lists are to be read now. */
  duePools({ pools, modelListRefreshSeconds }: ListPoolsResponse): readonly string[] {
    this.#refreshMs = modelListRefreshSeconds > 0 ? modelListRefreshSeconds * 1_000 : defaultRefreshMs;
    const nowMs = performance.now();
    const lastReadAtMs = this.#readAtMs;
    // A broker without a report has lost it, or has never had one.
    const isDue = ({ name, modelsReportedAt }: Pool) =>
      modelsReportedAt === undefined ||
      nowMs - (lastReadAtMs.get(name) ?? Number.NEGATIVE_INFINITY) >= this.#refreshMs - this.pauseMs / 2;
    const due = pools.filter(isDue).map(({ name }) => name);
    this.#readAtMs = new Map(
      pools.map(({ name }) => [name, due.includes(name) ? nowMs : (lastReadAtMs.get(name) ?? nowMs)]),
    );
    return due;
  }

  /** All lists are due. */
  startAnew(): void {
    this.#readAtMs.clear();
  }
}

/** With a broker that does not say how often. */
const defaultRefreshMs = 60_000;
const longestPauseMs = 5_000;
