import { networkOf } from '@gateway/config';
import type { DeviceGrantsTable, GatewayDatabase } from '@gateway/database';
import type { Selectable } from 'kysely';
import type { TokenHash } from '../hashing/hash-key.ts';

export type DeviceGrant = Selectable<DeviceGrantsTable>;

export type NewDeviceGrant = Pick<
  DeviceGrant,
  'device_code_hash' | 'user_code_hash' | 'surface' | 'client' | 'address' | 'expires_at_ms'
>;

/** Device grants, by the hashes of their codes under each of the configured keys. */
export class DeviceGrants {
  readonly #database: GatewayDatabase;
  readonly #most: number;

  /** @param most how many grants may wait for a person */
  constructor(database: GatewayDatabase, most = 5_000) {
    this.#database = database;
    this.#most = most;
  }

  /**
   * Adds a grant, and removes those that expired long ago. If too many wait for a person, the
   * oldest one of the network with the most of them makes room.
   */
  async add(grant: NewDeviceGrant, nowMs: number): Promise<void> {
    await this.#database
      .deleteFrom('device_grants')
      .where('expires_at_ms', '<', nowMs - keptAfterExpiryMs)
      .execute();
    const network = networkOf(grant.address);
    const row = {
      ...grant,
      network,
      state: 'pending',
      person_id: null,
      created_at_ms: nowMs,
      polled_at_ms: 0,
    } as const;
    await this.#database.insertInto('device_grants').values(row).execute();
    await this.#makeRoom(nowMs);
  }

  async #makeRoom(nowMs: number): Promise<void> {
    const pending = this.#database
      .selectFrom('device_grants')
      .where('state', '=', 'pending')
      .where('expires_at_ms', '>', nowMs);
    const byNetwork = await pending
      .select(['network', ({ fn }) => fn.countAll<number>().as('grants')])
      .groupBy('network')
      .orderBy('grants', 'desc')
      .execute();
    const [busiest] = byNetwork;
    if (busiest === undefined || byNetwork.reduce((sum, { grants }) => sum + Number(grants), 0) <= this.#most) return;
    const oldest = pending.select('device_code_hash').where('network', '=', busiest.network);
    await this.#database
      .deleteFrom('device_grants')
      .where('device_code_hash', 'in', oldest.orderBy('created_at_ms').orderBy('device_code_hash').limit(1))
      .execute();
  }

  /** The grant with this user code that waits for a decision. */
  async findPending(userCodes: readonly TokenHash[], nowMs: number): Promise<DeviceGrant | undefined> {
    return await this.#database
      .selectFrom('device_grants')
      .selectAll()
      .where('user_code_hash', 'in', hashesOf(userCodes))
      .where('state', '=', 'pending')
      .where('expires_at_ms', '>', nowMs)
      .executeTakeFirst();
  }

  /** Decides a pending grant, once. Undefined: there is none. A null person denies it. */
  async decide(
    userCodes: readonly TokenHash[],
    personId: string | null,
    nowMs: number,
  ): Promise<DeviceGrant | undefined> {
    return await this.#database
      .updateTable('device_grants')
      .set({ state: personId === null ? 'denied' : 'approved', person_id: personId })
      .where('user_code_hash', 'in', hashesOf(userCodes))
      .where('state', '=', 'pending')
      .where('expires_at_ms', '>', nowMs)
      .returningAll()
      .executeTakeFirst();
  }

  /** The grant of a device code, as it was before this poll. */
  async poll(deviceCodes: readonly TokenHash[], nowMs: number): Promise<DeviceGrant | undefined> {
    const grant = await this.#database
      .selectFrom('device_grants')
      .selectAll()
      .where('device_code_hash', 'in', hashesOf(deviceCodes))
      .executeTakeFirst();
    if (grant === undefined) return undefined;
    await this.#database
      .updateTable('device_grants')
      .set({ polled_at_ms: nowMs })
      .where('device_code_hash', '=', grant.device_code_hash)
      .execute();
    return grant;
  }
}

const keptAfterExpiryMs = 3_600_000;

/** Keys have different secrets, so the hashes of a text under two keys never collide. */
function hashesOf(codes: readonly TokenHash[]): readonly string[] {
  return codes.map(({ hash }) => hash);
}
