import { GatewayError } from '@gateway/errors';
import fc from 'fast-check';
import { type CallContext, type Client, serviceRoute } from '../../service-types.ts';
import { PlayService } from './play-service.ts';

type Kind = 'unary' | 'serverStream' | 'clientStream' | 'bidiStream';

/**
 * What happens on both sides of one call. Streams use all messages; single requests and answers use
 * the first.
 */
export interface Plan {
  readonly kind: Kind;
  readonly requests: readonly number[];
  readonly answers: readonly number[];
  /** How the handler ends. */
  readonly end: 'well' | 'refused' | 'faulty';
  /** After this many requests the handler stops reading. */
  readonly readsOnly: number;
  /** After this many answers the caller aborts or leaves the loop. */
  readonly stop: { readonly by: 'abort' | 'leave'; readonly after: number } | undefined;
  /**
   * Turns of the event loop between two steps: sending a message, the caller's reading, the
   * handler's reading.
   */
  readonly pace: number;
  readonly usesSignal: boolean;
}

const size = fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 3_000 }));

export const plan: fc.Arbitrary<Plan> = fc.record({
  kind: fc.constantFrom<Kind>('unary', 'serverStream', 'clientStream', 'bidiStream'),
  requests: fc.array(size, { minLength: 1, maxLength: 6 }),
  answers: fc.array(size, { minLength: 1, maxLength: 8 }),
  end: fc.oneof({ weight: 4, arbitrary: fc.constant<Plan['end']>('well') }, fc.constantFrom('refused', 'faulty')),
  readsOnly: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.integer({ min: 1, max: 3 })),
  stop: fc.option(fc.record({ by: fc.constantFrom('abort', 'leave'), after: fc.integer({ min: 1, max: 4 }) }), {
    nil: undefined,
  }),
  pace: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 4 })),
  usesSignal: fc.boolean(),
});

/** How a call ended for its caller. */
export interface Outcome {
  readonly answers: readonly string[];
  /** 'done', 'left', or the code or status of the error. */
  readonly end: string;
}

/** Handlers that follow the plan whose number each request starts with. */
export function playRoute(
  plans: readonly Plan[],
  onEnd: (number: number, signal: AbortSignal | undefined) => void = () => undefined,
) {
  const planOf = (number: number) => {
    const found = plans[number];
    if (found === undefined) throw new Error('no such plan');
    return found;
  };
  async function readAll(requests: AsyncIterable<{ value: Uint8Array }>) {
    const seen: string[] = [];
    let number = 0;
    for await (const { value } of requests) {
      number = value[0] ?? 0;
      seen.push(fingerprint(value));
      if (seen.length >= planOf(number).readsOnly) break;
      await turns(planOf(number).pace);
    }
    return { number, seen };
  }
  async function answerOnce(number: number, seen: string, context: CallContext) {
    const { usesSignal, pace, end, answers } = planOf(number);
    const signal = usesSignal ? context.signal : undefined;
    try {
      await turns(pace);
      finish(end);
      return { value: bytesOf(number, answers[0] ?? 0, seen) };
    } finally {
      onEnd(number, signal);
    }
  }
  async function* answerAll(number: number, seen: string, context: CallContext) {
    const { usesSignal, pace, end, answers } = planOf(number);
    const signal = usesSignal ? context.signal : undefined;
    try {
      for (const size of answers) {
        yield { value: bytesOf(number, size, seen) };
        await turns(pace);
      }
      finish(end);
    } finally {
      onEnd(number, signal);
    }
  }
  return serviceRoute(PlayService, {
    unary: ({ value }, context) => answerOnce(value[0] ?? 0, fingerprint(value), context),
    serverStream: ({ value }, context) => {
      const number = value[0] ?? 0;
      return answerAll(number, fingerprint(value), context);
    },
    clientStream: async (requests, context) => {
      const { number, seen } = await readAll(requests);
      return answerOnce(number, seen.join(), context);
    },
    bidiStream: async function* (requests, context) {
      const { number, seen } = await readAll(requests);
      yield* answerAll(number, seen.join(), context);
    },
  });
}

function finish(end: Plan['end']): void {
  if (end === 'refused') throw new GatewayError('pool_exhausted', 'All busy.', { retryAfterMs: 5_000 });
  if (end === 'faulty') throw new Error('secret');
}

/** Makes a call of the plan's method and returns how it ended. */
export async function run(client: Client<typeof PlayService>, plan: Plan, number: number): Promise<Outcome> {
  const answers: string[] = [];
  const controller = new AbortController();
  const options = { signal: controller.signal };
  const request = { value: bytesOf(number, plan.requests[0] ?? 0, '') };
  try {
    if (plan.kind === 'unary')
      return { answers: [fingerprint((await client.unary(request, options)).value)], end: 'done' };
    const requests = requestsOf(plan, number);
    if (plan.kind === 'clientStream') {
      return { answers: [fingerprint((await client.clientStream(requests, options)).value)], end: 'done' };
    }
    const stream =
      plan.kind === 'bidiStream' ? client.bidiStream(requests, options) : client.serverStream(request, options);
    for await (const { value } of stream) {
      answers.push(fingerprint(value));
      if (plan.stop?.after === answers.length) {
        if (plan.stop.by === 'leave') return { answers, end: 'left' };
        controller.abort();
      }
      await turns(plan.pace);
    }
    return { answers, end: 'done' };
  } catch (thrown) {
    return { answers, end: nameOf(thrown) };
  }
}

async function* requestsOf({ requests, pace }: Plan, number: number) {
  for (const size of requests) {
    yield { value: bytesOf(number, size, '') };
    await turns(pace);
  }
}

/**
 * The code or status of a failure. An internal error is recognised by its text in process, and by
 * its code over a network.
 */
function nameOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'no error';
  if (thrown.message === 'secret') return 'internal_error';
  if ('code' in thrown)
    return `${thrown.code} ${'retryAfterMs' in thrown ? thrown.retryAfterMs : ''}`
      .trim()
      .replace('internal_error undefined', 'internal_error');
  return 'status' in thrown ? String(thrown.status) : thrown.message;
}

/** Bytes that start with the number of their plan and depend on the seed. */
function bytesOf(number: number, length: number, seed: string): Uint8Array {
  const bytes = new Uint8Array(length + 1);
  for (let index = 1; index <= length; index++) bytes[index] = (index * 31 + seed.length + number) & 0xff;
  bytes[0] = number;
  return bytes;
}

function fingerprint(bytes: Uint8Array): string {
  let sum = 7;
  for (const byte of bytes) sum = (sum * 33 + byte) >>> 0;
  return `${bytes.length}:${sum}`;
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
