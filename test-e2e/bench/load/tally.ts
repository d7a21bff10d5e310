import {
  microsecondsBetween,
  type ProcessorTimes,
  readMemoryKilobytes,
  readProcessorTimes,
  type WatchedProcess,
} from '../measure/processor-time.ts';
import { quantile } from '../measure/spread.ts';
import type { Exchange } from './client-connection.ts';
import type { LoadReport, Quantiles } from './load-order.ts';

/** The most samples of latency in one measurement. */
const mostSamples = 500_000;

/** Events between the beginning and the end of the measured time. */
export class Tally {
  readonly #watched: readonly WatchedProcess[];
  readonly #latencies: number[] = [];
  readonly #firstBytes: number[] = [];
  readonly #latenciesBySecond = new Map<number, number[]>();
  #isOpen = false;
  #answered = 0;
  #failed = 0;
  #firstFailure: string | undefined;
  #bodyBytes = 0;
  #beganAtMs = 0;
  #timesBefore: ProcessorTimes = new Map();
  #memoryBefore: Readonly<Record<string, number>> = {};

  constructor(watched: readonly WatchedProcess[]) {
    this.#watched = watched;
  }

  begin(): void {
    this.#memoryBefore = readMemoryKilobytes(this.#watched);
    this.#timesBefore = readProcessorTimes(this.#watched);
    this.#beganAtMs = performance.now();
    this.#isOpen = true;
  }

  /** Counts an answer. Failures count at any time, so that none is missed. */
  add({ failure, latencyMs, firstByteMs, bodyBytes }: Exchange): void {
    if (failure !== undefined) {
      this.#failed += 1;
      this.#firstFailure ??= failure;
      return;
    }
    if (!this.#isOpen) return;
    this.#answered += 1;
    this.#bodyBytes += bodyBytes;
    if (this.#latencies.length >= mostSamples) return;
    this.#latencies.push(latencyMs);
    const second = Math.floor((performance.now() - latencyMs - this.#beganAtMs) / 1_000);
    const ofSecond = this.#latenciesBySecond.get(second) ?? [];
    ofSecond.push(latencyMs);
    this.#latenciesBySecond.set(second, ofSecond);
    this.#firstBytes.push(firstByteMs);
  }

  end(): LoadReport {
    this.#isOpen = false;
    const elapsedMs = performance.now() - this.#beganAtMs;
    const processorMicros = microsecondsBetween(this.#timesBefore, readProcessorTimes(this.#watched));
    return {
      answered: this.#answered,
      failed: this.#failed,
      firstFailure: this.#firstFailure,
      elapsedMs,
      bodyBytes: this.#bodyBytes,
      latencyMs: quantilesOf(this.#latencies),
      firstByteMs: quantilesOf(this.#firstBytes),
      latencyMsBySecond: Array.from({ length: Math.ceil(elapsedMs / 1_000) }, (_, second) =>
        quantilesOf(this.#latenciesBySecond.get(second) ?? []),
      ),
      processorMicros,
      memoryBeforeKilobytes: this.#memoryBefore,
      memoryAfterKilobytes: readMemoryKilobytes(this.#watched),
    };
  }
}

function quantilesOf(values: readonly number[]): Quantiles {
  const sorted = values.toSorted((a, b) => a - b);
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) };
}
