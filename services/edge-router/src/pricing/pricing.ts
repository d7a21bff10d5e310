import { PriceBook } from '@gateway/prices';
import type { PoolBrokerService, WatchCatalogResponse } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Client } from '@gateway/rpc';
import { sleep } from '@gateway/time';

/** What models cost, and which models can answer for a class: as the broker last reported it. */
export class Pricing {
  #prices = new PriceBook();
  #isKnown = false;
  #ownerOf: ReadonlyMap<string, string> = new Map();
  #byOwner: ReadonlyMap<string, readonly string[]> = new Map();
  #candidates: ReadonlyMap<string, readonly string[]> = new Map();

  /** Empty until the broker has been reached. Kept while it is away. */
  get prices(): PriceBook {
    return this.#prices;
  }

  /** Whether the broker has been reached. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** The provider's models that can answer for a model id. */
  candidatesOf(model: string): readonly string[] {
    return this.#candidates.get(model) ?? [model];
  }

  /** The models of the same provider as a model, itself included; none if it is in no list. */
  neighboursOf(model: string): readonly string[] {
    return this.#byOwner.get(this.#ownerOf.get(model) ?? '') ?? [];
  }

  use({ models, prices }: Pick<WatchCatalogResponse, 'models' | 'prices'>): void {
    this.#candidates = new Map(models.map(({ id, candidates }) => [id, candidates]));
    const listed = models.filter(({ id }) => !id.startsWith('gateway/'));
    this.#ownerOf = new Map(listed.map(({ id, ownedBy }) => [id, ownedBy]));
    this.#byOwner = Map.groupBy(this.#ownerOf.keys(), (id) => this.#ownerOf.get(id) ?? '');
    this.#prices = new PriceBook(prices);
    this.#isKnown = true;
  }
}

/** Follows the broker's catalog until the signal is aborted. A lost stream is reopened. */
export async function watchCatalog(
  broker: Pick<Client<typeof PoolBrokerService>, 'watchCatalog'>,
  users: readonly { use(catalog: WatchCatalogResponse): void }[],
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const catalog of broker.watchCatalog({}, { signal })) {
        for (const user of users) user.use(catalog);
      }
    } catch {
      // The broker is away: its last catalog applies.
    }
    await sleep(reconnectMs, { signal }).catch(() => undefined);
  }
}

const reconnectMs = 250;
