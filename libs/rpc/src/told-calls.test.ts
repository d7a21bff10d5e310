import { GatewayError } from '@gateway/errors';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answersOf } from './answer-pump.ts';
import { allAtHand, atHand } from './at-hand.ts';
import { directClient } from './direct-client.ts';
import { type GrpcChannel, openGrpcChannel } from './grpc-client.ts';
import { GrpcServer } from './grpc-server.ts';
import { PlayService } from './multiplex/__fixtures__/play-service.ts';
import { openMultiplexedChannel } from './multiplex/multiplexed-channel.ts';
import { type CallContext, type Client, serviceRoute } from './service-types.ts';
import type { AnswerListener, Answers, ToldCall } from './told-answers.ts';

interface Value {
  readonly value: Uint8Array;
}

let lastSignal: AbortSignal | undefined;
/** What the handler of requests that were at hand has found. */
let atHandCount: number | undefined;

async function* play({ value }: Value, { signal }: CallContext): AsyncGenerator<Value> {
  lastSignal = signal;
  const piece = String(value);
  if (piece === 'refused at once') throw new GatewayError('pool_exhausted', 'All busy.');
  for (let n = 1; piece === 'forever' ? !signal.aborted : n <= 3; n++) {
    yield { value: Buffer.from(`${piece} ${n}`) };
    if (piece === 'forever') await new Promise((resolve) => setImmediate(resolve));
  }
  if (piece === 'hold') await new Promise((resolve) => signal.addEventListener('abort', resolve));
  if (piece === 'refused') throw new GatewayError('pool_exhausted', 'All busy.');
}

async function* echo(requests: AsyncIterable<Value>): AsyncGenerator<Value> {
  atHandCount = allAtHand(requests)?.length;
  for await (const { value } of requests) yield { value };
}

function routeOf(answers: (answers: AsyncIterable<Value>) => AsyncIterable<Value>) {
  return serviceRoute(PlayService, {
    unary: (request) => request,
    serverStream: (request, context) => answers(play(request, context)),
    clientStream: async () => ({}),
    bidiStream: (requests) => answers(echo(requests)),
  });
}

/** Keeps what it was told, and does what a test asks of it at each answer. */
class Notes implements AnswerListener<Value> {
  readonly told: string[] = [];
  end: unknown;
  call: ToldCall | undefined;
  readonly #onAnswer: (notes: Notes) => void;

  constructor(onAnswer: (notes: Notes) => void = () => undefined) {
    this.#onAnswer = onAnswer;
  }

  static of(answers: Answers<Value>, onAnswer?: (notes: Notes) => void): Notes {
    const notes = new Notes(onAnswer);
    const call = answers.tellTo(notes);
    expect({ told: notes.told, end: notes.end }).toEqual({ told: [], end: undefined });
    notes.call = call;
    return notes;
  }

  onAnswer({ value }: Value): void {
    expect(this.end).toBeUndefined();
    this.told.push(value.length > 100 ? String(value.length) : String(value));
    this.#onAnswer(this);
  }

  onEnd(): void {
    expect(this.end).toBeUndefined();
    this.end = 'end';
  }

  onFailure(reason: unknown): void {
    expect(this.end).toBeUndefined();
    this.end = reason;
  }
}

const until = <T>(read: () => T) => expect.poll(read, { interval: 5, timeout: 5_000 });

const handlers = [
  { kind: 'told', answers: answersOf<Value> },
  { kind: 'generated', answers: (answers: AsyncIterable<Value>) => answers },
];

describe.each(handlers)('answers that are $kind by their handler', ({ answers }) => {
  const route = routeOf(answers);
  let server: GrpcServer;
  const channels: GrpcChannel[] = [];

  beforeAll(async () => {
    server = await GrpcServer.listen({ host: '127.0.0.1', port: 0, routes: [route] });
  });

  afterAll(async () => {
    for (const channel of channels) channel[Symbol.dispose]();
    await server.stop(1_000);
  });

  function clientOver(open: (url: string) => GrpcChannel): Client<typeof PlayService> {
    const channel = open(`http://127.0.0.1:${server.port}`);
    channels.push(channel);
    return channel.client(PlayService);
  }

  describe.each([
    { name: 'direct', open: () => directClient(route) },
    { name: 'multiplexed', open: () => clientOver(openMultiplexedChannel) },
    { name: 'plain gRPC', open: () => clientOver(openGrpcChannel) },
  ])('by a $name client', ({ name, open }) => {
    let client: Client<typeof PlayService>;
    beforeAll(() => {
      client = open();
    });

    const stream = (piece: string, options = {}) => client.serverStream({ value: Buffer.from(piece) }, options);
    const forever = (onAnswer?: (notes: Notes) => void, options = {}) => Notes.of(stream('forever', options), onAnswer);

    /** A whole call of the same client, in whose time another that had something to tell would have told it. */
    async function meanwhile(): Promise<void> {
      const notes = Notes.of(stream('other'));
      await until(() => notes.end).toBe('end');
    }

    it('are told in order, and then that they have ended', async () => {
      const notes = Notes.of(stream('a'));
      await until(() => notes.end).toBe('end');
      expect(notes.told).toEqual(['a 1', 'a 2', 'a 3']);
    });

    it('are told before the failure that follows them', async () => {
      const notes = Notes.of(stream('refused'));
      await until(() => notes.end).toMatchObject({ name: 'GatewayError', code: 'pool_exhausted' });
      expect(notes.told).toEqual(['refused 1', 'refused 2', 'refused 3']);
      const none = Notes.of(stream('refused at once'));
      await until(() => none.end).toMatchObject({ name: 'GatewayError', code: 'pool_exhausted' });
      expect(none.told).toEqual([]);
    });

    it('are told of requests that are at hand, and of such that come', async () => {
      const values = ['x', 'y', 'z'].map((text) => ({ value: Buffer.from(text) }));
      const given = Notes.of(client.bidiStream(atHand(values)));
      await until(() => given.end).toBe('end');
      expect(given.told).toEqual(['x', 'y', 'z']);
      if (name === 'direct') expect(atHandCount).toBe(3);
      const none = Notes.of(client.bidiStream(atHand([])));
      await until(() => none.end).toBe('end');
      expect(none.told).toEqual([]);
      const coming = Notes.of(
        client.bidiStream(
          (async function* () {
            yield* values;
          })(),
        ),
      );
      await until(() => coming.end).toBe('end');
      expect(coming.told).toEqual(['x', 'y', 'z']);
    });

    it('are told also when they are larger than any window', async () => {
      const notes = Notes.of(client.bidiStream(atHand([{ value: Buffer.alloc(3_000_000) }])));
      await until(() => notes.end).toBe('end');
      expect(notes.told).toEqual(['3000000']);
    });

    it('are told no more once the call is cancelled, and the handler knows', async () => {
      const notes = forever(({ call, told }) => told.length === 2 && call?.cancel());
      await until(() => notes.told.length).toBe(2);
      await until(() => lastSignal?.aborted).toBe(true);
      await meanwhile();
      expect(notes).toMatchObject({ told: { length: 2 }, end: undefined });
      const never = forever();
      never.call?.cancel();
      never.call?.cancel();
      await meanwhile();
      expect(never).toMatchObject({ told: [], end: undefined });
    });

    it('are held back while the call is paused, and lost never', async () => {
      const notes = Notes.of(stream('a'), ({ call }) => call?.pause());
      await until(() => notes.told.length).toBeGreaterThan(0);
      await meanwhile();
      expect(notes.end).toBeUndefined();
      expect(notes.told.length).toBeLessThan(3);
      const goOn = () => {
        notes.call?.resume();
        return notes.end;
      };
      await until(goOn).toBe('end');
      expect(notes.told).toEqual(['a 1', 'a 2', 'a 3']);
    });

    it('fail when the caller aborts, also while the call is paused', async () => {
      for (const isPaused of [false, true]) {
        const controller = new AbortController();
        const notes = forever(({ call }) => isPaused && call?.pause(), { signal: controller.signal });
        await until(() => notes.told.length).toBeGreaterThan(0);
        controller.abort();
        await until(() => notes.end).toMatchObject({ name: 'RpcError', status: 'cancelled' });
        await until(() => lastSignal?.aborted).toBe(true);
      }
      const late = Notes.of(stream('a', { signal: AbortSignal.abort() }));
      await until(() => late.end).toMatchObject({ name: 'RpcError', status: 'cancelled' });
      expect(late.told).toEqual([]);
    });

    it('fail when the deadline passes, also while the call is paused', async () => {
      for (const isPaused of [false, true]) {
        const notes = Notes.of(stream('hold', { timeoutMs: 60 }), ({ call }) => isPaused && call?.pause());
        await until(() => notes.end).toMatchObject({ name: 'RpcError', status: 'deadline_exceeded' });
        await until(() => lastSignal?.aborted).toBe(true);
      }
    });

    it('fail with what their listener throws, and the handler is cancelled', async () => {
      const notes = forever(() => {
        throw new Error('the listener broke');
      });
      await until(() => notes.end).toMatchObject({ message: 'the listener broke' });
      await until(() => lastSignal?.aborted).toBe(true);
      expect(notes.told).toEqual(['forever 1']);
    });
  });
});
