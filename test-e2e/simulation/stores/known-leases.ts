import type { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Client } from '@gateway/rpc';
import { currentProcess, type World, type WorldProcess } from '../world/world.ts';

/** The leases that edges know of: each must be ended, unless its edge dies. */
export class KnownLeases {
  readonly #world: World;
  readonly #known = new Map<string, { readonly edge: WorldProcess | undefined; readonly atMs: number }>();
  /** When a broker last did not reach Redis: it then knows ends of leases alone. */
  #outageAtMs = Number.NEGATIVE_INFINITY;

  constructor(world: World) {
    this.#world = world;
  }

  /** The current process got a lease. */
  noteLease(leaseId: string): void {
    this.#known.set(leaseId, { edge: currentProcess(), atMs: this.#world.nowMs });
  }

  noteEnd(leaseId: string): void {
    this.#known.delete(leaseId);
  }

  noteOutage(): void {
    this.#outageAtMs = this.#world.nowMs;
    // The end of any of these may be lost with that broker's memory.
    this.#known.clear();
  }

  /** Leases of edges that still run, although all requests have ended. */
  unreported(): readonly string[] {
    const left = [...this.#known].filter(
      ([, { edge, atMs }]) => edge?.state !== 'killed' && atMs > this.#outageAtMs + aloneForMs,
    );
    return left.map(([leaseId]) => leaseId);
  }
}

/** As in the product: for how long a broker then uses its memory. */
const aloneForMs = 1_000;

type Broker = Client<typeof PoolBrokerService>;

/** An edge's client of the brokers, which notes the leases that it gets. */
export function watchedBroker(broker: Broker, leases: KnownLeases): Broker {
  return {
    ...broker,
    async acquire(...given) {
      const answer = await broker.acquire(...given);
      if (answer.result.case === 'lease') leases.noteLease(answer.result.value.leaseId);
      return answer;
    },
  };
}
