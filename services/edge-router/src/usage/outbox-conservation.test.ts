import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { RequestEnding } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakeLedger, rowKeysOf } from './__fixtures__/fake-ledger.ts';
import { ended, endedUnbilled, moved, refused, requestRow, TestEdge } from './__fixtures__/test-edge.ts';
import type { OutboxRow } from './outbox-row.ts';

const isLong = process.env.FAULTS === 'long';

const memoryEvents = 8;
const edgeCount = 2;

const actions = {
  serve: 'some requests are handed to a provider or to two, and ended',
  begin: 'a request is handed to a provider',
  answer: 'its provider begins to answer',
  move: 'its provider is given up for another one',
  finish: 'it ends',
  refuse: 'it ends without an answer, and may go to the log',
  cutOff: 'the ledger is away',
  muffle: 'the ledger keeps records, but its answers are lost',
  reconnect: 'the ledger is back',
  fill: 'the disk is full',
  free: 'the disk has room again',
  wait: 'some time passes',
  kill: 'the process is killed, and another one started',
  stop: 'the process is stopped, and another one started',
} as const;
type Action = keyof typeof actions;

interface Step {
  readonly action: Action;
  readonly edge: number;
  /** Selects the request that the step applies to. */
  readonly pick: number;
}

interface Request {
  readonly id: string;
  readonly row: OutboxRow;
  state: 'running' | 'finished' | 'refused' | 'cut';
  isAnswering: boolean;
  /** Its start, or its end, was not written when its process died: no outbox can know it. */
  isUnknown: boolean;
}

/** Two edges on one folder, and what the ledger must contain of their requests. */
class Scene {
  readonly requests: Request[] = [];
  readonly #folder: string;
  readonly #ledger = new FakeLedger();
  readonly #edges: TestEdge[] = [];
  readonly #running: Set<Request>[] = Array.from({ length: edgeCount }, () => new Set());
  /** For each edge: what its disk has not accepted since it is full. */
  readonly #unwritten: Set<Request>[] = Array.from({ length: edgeCount }, () => new Set());

  constructor(folder: string) {
    this.#folder = folder;
  }

  async start(): Promise<void> {
    for (let n = 0; n < edgeCount; n++) this.#edges.push(await this.#startEdge());
  }

  async step({ action, edge: n, pick }: Step): Promise<void> {
    const edge = this.#edge(n);
    const running = this.#of(this.#running, n);
    const request = [...running][pick % Math.max(1, running.size)];
    switch (action) {
      case 'serve':
        for (let count = 0; count <= pick; count++) {
          const served = await this.#begin(n);
          const isMoved = count % 2 === 1;
          if (isMoved) await this.#move(n, served);
          await this.#end(n, served, 'finish', isMoved);
        }
        break;
      case 'begin':
        await this.#begin(n);
        break;
      case 'answer':
        if (request === undefined) break;
        request.isAnswering = true;
        this.#mark(n, request);
        edge.outbox.open(ended(request.row, RequestEnding.FAILED));
        await turn();
        break;
      case 'move':
        if (request !== undefined) await this.#move(n, request);
        break;
      case 'finish':
      case 'refuse':
        if (request !== undefined) await this.#end(n, request, action, pick > 3);
        break;
      case 'cutOff':
        this.#ledger.away = true;
        break;
      case 'muffle':
        this.#ledger.mute = true;
        break;
      case 'reconnect':
        this.#ledger.away = false;
        this.#ledger.mute = false;
        break;
      case 'fill':
        await turn();
        edge.isDiskFull = true;
        break;
      case 'free':
        await this.#free(n);
        break;
      case 'wait':
        for (let round = 0; round < pick; round++) await turn();
        break;
      case 'kill':
        await edge.kill();
        this.#died(n);
        this.#edges[n] = await this.#startEdge();
        break;
      case 'stop':
        await edge.stop();
        this.#died(n);
        this.#edges[n] = await this.#startEdge();
        break;
    }
  }

  /** Everything works again, every process ends, and one more empties the folder. */
  async settle(): Promise<void> {
    this.#ledger.away = false;
    this.#ledger.mute = false;
    for (let n = 0; n < edgeCount; n++) {
      await this.#free(n);
      await this.#edge(n).stop();
      this.#died(n);
    }
    await using last = await this.#startEdge();
    await expect
      .poll(
        async () => {
          return (await readdir(this.#folder)).filter((name) => name.endsWith('.sqlite')).length;
        },
        { interval: 5 },
      )
      .toBe(1);
    await expect.poll(() => last.seen.waiting).toBe(0);
  }

  rowsOf({ id }: Request) {
    const rows = [...this.#ledger.rows].map(([key, record]) => ({ key, record }));
    return rows.filter(({ record }) => record.requestId === id);
  }

  get rowCount(): number {
    return this.#ledger.rows.size;
  }

  async #begin(n: number): Promise<Request> {
    const id = `r${this.requests.length}`;
    const row = requestRow(id, RequestEnding.UNSPECIFIED);
    const request: Request = { id, row, state: 'running', isAnswering: false, isUnknown: false };
    this.requests.push(request);
    this.#of(this.#running, n).add(request);
    this.#mark(n, request);
    this.#edge(n).outbox.open(row);
    await turn();
    return request;
  }

  async #move(n: number, request: Request): Promise<void> {
    request.isAnswering = false;
    this.#mark(n, request);
    this.#edge(n).outbox.open(moved(request.row));
    await turn();
  }

  /** @param isUnbilled its last attempt is not, if there was another before */
  async #end(n: number, request: Request, how: 'finish' | 'refuse', isUnbilled = false): Promise<void> {
    const edge = this.#edge(n);
    const isEven = this.requests.length % 2 === 0;
    const { lost } = edge.seen;
    this.#of(this.#running, n).delete(request);
    request.state = how === 'finish' ? 'finished' : 'refused';
    this.#mark(n, request);
    const end = isUnbilled && request.row.record.attempts.length > 1 ? endedUnbilled : ended;
    if (how === 'finish') await edge.outbox.finish(end(request.row), isEven ? undefined : turn());
    else if (isEven && edge.outbox.hasRoomForLog) edge.outbox.log(refused(request.row));
    else edge.outbox.close(request.row);
    await turn();
    if (edge.seen.lost > lost) request.isUnknown = true;
  }

  /** From here on the disk again knows everything that was not lost. */
  async #free(n: number): Promise<void> {
    const edge = this.#edge(n);
    edge.isDiskFull = false;
    const { writes } = edge.seen;
    await expect.poll(() => edge.seen.writes, { interval: 1 }).toBeGreaterThan(writes);
    this.#of(this.#unwritten, n).clear();
  }

  #mark(n: number, request: Request): void {
    if (this.#edge(n).isDiskFull) this.#of(this.#unwritten, n).add(request);
  }

  #died(n: number): void {
    for (const request of this.#of(this.#unwritten, n)) request.isUnknown = true;
    for (const request of this.#of(this.#running, n)) request.state = 'cut';
    this.#of(this.#unwritten, n).clear();
    this.#of(this.#running, n).clear();
  }

  #startEdge(): Promise<TestEdge> {
    return TestEdge.start({
      folder: this.#folder,
      sink: this.#ledger,
      memoryEvents,
      lastDeliveryMs: 10,
    });
  }

  #edge(n: number): TestEdge {
    return this.#of(this.#edges, n);
  }

  #of<T>(list: readonly T[], n: number): T {
    const found = list[n];
    if (found === undefined) throw new Error(`there is no edge ${n}`);
    return found;
  }
}

/** Frequent steps, occasional steps, and final steps. */
const steps = fc.array(
  fc.record({
    action: fc.oneof(
      {
        weight: 10,
        arbitrary: fc.constantFrom<Action>('serve', 'begin', 'begin', 'finish', 'refuse', 'answer', 'move'),
      },
      { weight: 3, arbitrary: fc.constantFrom<Action>('cutOff', 'cutOff', 'muffle', 'reconnect') },
      { weight: 3, arbitrary: fc.constantFrom<Action>('fill', 'free') },
      { weight: 2, arbitrary: fc.constant<Action>('wait') },
      { weight: 1, arbitrary: fc.constantFrom<Action>('kill', 'kill', 'kill', 'stop') },
    ),
    edge: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) }),
    pick: fc.nat(5),
  }),
  { minLength: 60, maxLength: 120, size: 'max' },
);

describe('the ledger, whatever happens to edges, disks and itself', () => {
  it('holds in the end every finished request once, and no refused one', async () => {
    const seen = { finished: 0, refused: 0, cut: 0, unknown: 0 };
    await fc.assert(
      fc.asyncProperty(steps, async (schedule) => {
        const folder = await mkdtemp(join(tmpdir(), 'outbox-'));
        try {
          const scene = new Scene(folder);
          await scene.start();
          for (const step of schedule) await scene.step(step);
          await scene.settle();
          let rows = 0;
          for (const request of scene.requests) {
            const found = scene.rowsOf(request);
            rows += found.length;
            if (request.isUnknown) {
              seen.unknown += 1;
              continue;
            }
            expect(found.map(({ key }) => key).sort(), request.id).toEqual(expectedKeys(request));
            for (const { record } of found) {
              expect(record.ending, request.id).toBe(expectedEnding(request));
              for (const { usage } of record.attempts)
                if (usage !== undefined) expect(usage.estimated, request.id).toBe(request.state === 'cut');
            }
            if (request.state !== 'running') seen[request.state] += 1;
          }
          expect(rows).toBe(scene.rowCount);
        } finally {
          await rm(folder, { recursive: true, force: true });
        }
      }),
      { numRuns: isLong ? 100 : 30 },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(20);
  });
});

/** One row of each attempt with usage, unless it was refused. */
function expectedKeys({ state, row }: Request): readonly string[] {
  return state === 'refused' ? [] : rowKeysOf(row.record).toSorted();
}

function expectedEnding({ state, isAnswering, row }: Request): RequestEnding {
  if (state === 'finished') return row.record.ending;
  return isAnswering ? RequestEnding.FAILED : RequestEnding.UNSPECIFIED;
}
