import type { PoolFormat } from '@gateway/config';
import type { Candidate } from './resolve-model.ts';

/** What model ids were found to mean, for as long as nothing they depend on changes. */
export class ResolvedModels {
  readonly #fromMs: number;
  readonly #untilMs: number;
  // By the very set: those who ask often have one of their own for each choice of formats.
  #byFormats = new WeakMap<ReadonlySet<PoolFormat>, Map<string, readonly Candidate[]>>();
  #kept = 0;

  /** Holds between two moments, both included. */
  constructor(fromMs: number, untilMs: number) {
    this.#fromMs = fromMs;
    this.#untilMs = untilMs;
  }

  holdsAt(nowMs: number): boolean {
    return this.#fromMs <= nowMs && nowMs <= this.#untilMs;
  }

  get(model: string, formats: ReadonlySet<PoolFormat>): readonly Candidate[] | undefined {
    return this.#byFormats.get(formats)?.get(model);
  }

  keep(model: string, formats: ReadonlySet<PoolFormat>, candidates: readonly Candidate[]): void {
    this.#kept += 1;
    if (this.#kept > mostKept) {
      this.#byFormats = new WeakMap();
      this.#kept = 1;
    }
    const byModel = this.#byFormats.get(formats) ?? new Map<string, readonly Candidate[]>();
    byModel.set(model, candidates);
    this.#byFormats.set(formats, byModel);
  }
}

// Clients may make up the names of models.
const mostKept = 1_000;
