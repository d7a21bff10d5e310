import {
  type Billing,
  billingOf,
  fitPasses,
  nameIn,
  readTokenCount,
  servedWord,
  toolCallsIn,
  type UsagePass,
} from '@gateway/chat';
import { asArray, asObject, type JsonObject } from '@gateway/json';
import { type Counts, countsAfter, countsIn } from './usage-counts.ts';

/**
 * What is billed beside the counts at the top of a usage, and how the answer was served. As with
 * these counts, what is reported later never takes back what was reported before.
 */
export class Bill {
  readonly #passes = new Map<string, ReportedPass>();
  readonly #calls = new Map<string, number>();
  #served = { serviceTier: '', speed: '', geography: '' };
  /** The model that answered after others declined. */
  #model = '';
  #hasMessage = false;
  #isCut = false;

  add(usage: JsonObject): void {
    const { serviceTier, speed, geography } = servedIn(usage);
    const known = this.#served;
    this.#served = {
      serviceTier: serviceTier || known.serviceTier,
      speed: speed || known.speed,
      geography: geography || known.geography,
    };
    for (const [name, calls] of Object.entries(asObject(usage.server_tool_use) ?? {})) this.#addCalls(name, calls);
    this.#addPasses(asArray(usage.iterations));
  }

  /** There are passes, and none of them is a part of the answer itself. */
  get isOnlyPasses(): boolean {
    return this.#passes.size > 0 && !this.#hasMessage;
  }

  /** @param own the counts at the top */
  billing(own: Parameters<typeof fitPasses>[1]): Billing | undefined {
    const passes = [...this.#passes.values()];
    const fitting = fitPasses(passes.map(toPass), own);
    return billingOf({
      ...this.#served,
      model: this.#model,
      toolCalls: toolCallsIn(this.#calls),
      passes: fitting.passes,
      isIncomplete: this.#isCut || fitting.isIncomplete || !passes.every(({ counts }) => isWhole(counts)),
    });
  }

  #addCalls(name: string, calls: unknown): void {
    if (!name.endsWith(requestsOfTool) || this.#calls.size >= maxTools) return;
    const tool = name.slice(0, -requestsOfTool.length);
    this.#calls.set(tool, Math.max(this.#calls.get(tool) ?? 0, readTokenCount(calls) ?? 0));
  }

  /**
   * A report has all passes so far: each is found again by its kind, its model and its place among
   * those of the same kind and model.
   */
  #addPasses(iterations: readonly unknown[]): void {
    const places = new Map<string, number>();
    this.#isCut ||= iterations.length > maxPasses;
    for (const value of iterations.slice(0, maxPasses)) {
      const iteration = asObject(value);
      if (iteration === undefined) continue;
      const [kind, model] = [nameIn(iteration.type) || 'unknown', nameIn(iteration.model)];
      if (ownKinds.has(kind)) {
        this.#hasMessage = true;
        if (kind !== 'message') this.#model = model;
        continue;
      }
      const place = (places.get(`${kind}\0${model}`) ?? 0) + 1;
      places.set(`${kind}\0${model}`, place);
      const key = `${kind}\0${model}\0${place}`;
      const counts = countsAfter(this.#passes.get(key)?.counts ?? countsIn(undefined), countsIn(iteration));
      this.#passes.set(key, { kind, model, counts });
    }
  }
}

interface ReportedPass {
  readonly kind: string;
  readonly model: string;
  readonly counts: Counts;
}

/**
 * Passes whose counts are at the top: those of the answer itself, and its last one if a fallback
 * made it. Hops of a fallback that declined are `message` too; they are not billed.
 */
const ownKinds: ReadonlySet<string> = new Set(['message', 'fallback_message']);

const requestsOfTool = '_requests';
const maxTools = 16;
/** Far more than any answer has; they take some milliseconds to count. */
const maxPasses = 5_000;

function servedIn(usage: JsonObject): Pick<Billing, 'serviceTier' | 'speed' | 'geography'> {
  return {
    serviceTier: servedWord(usage.service_tier, ['standard']),
    speed: servedWord(usage.speed, ['standard']),
    geography: servedWord(usage.inference_geo, ['global', 'not_available']),
  };
}

/** Counts that are not valid count as none. */
function toPass({ kind, model, counts }: ReportedPass): UsagePass {
  const { input, cacheCreation, hour, cacheRead, output } = counts;
  const cacheWrites = valid(cacheCreation);
  const cacheWrite1hTokens = Math.min(valid(hour), cacheWrites);
  return {
    kind,
    model,
    inputTokens: valid(input) + cacheWrites + valid(cacheRead),
    cachedTokens: valid(cacheRead),
    cacheWrite5mTokens: cacheWrites - cacheWrite1hTokens,
    cacheWrite1hTokens,
    outputTokens: valid(output),
  };
}

/** Every pass has input and output; what of it was cached may be absent. */
function isWhole({ input, cacheCreation = 0, cacheRead = 0, output }: Counts): boolean {
  return [input, cacheCreation, cacheRead, output].every((count) => count !== undefined && !Number.isNaN(count));
}

function valid(count: number | undefined): number {
  return count === undefined || Number.isNaN(count) ? 0 : count;
}
