import type { Database, GatewayDatabase, TokenGroupsTable } from '@gateway/database';
import { randomId } from '@gateway/time';
import type { GivenAccess, GroupLimits } from '@gateway/tokens';
import { type Selectable, sql, type Transaction, type UpdateObject } from 'kysely';
import { nextSequence, toAccessColumns, toLimitColumns } from './token-store.ts';

export type Group = Selectable<TokenGroupsTable>;

/** A group, and how many valid tokens belong to it. */
export interface CountedGroup extends Group {
  readonly tokens: number;
}

export interface NewGroup {
  readonly name: string;
  readonly note: string;
  readonly limits: GroupLimits;
  readonly access: GivenAccess;
  readonly unpricedModels: 'refuse' | 'dearest';
}

/** The changes to a group. Undefined: unchanged. */
export type GroupDetails = { readonly [Field in keyof NewGroup]?: NewGroup[Field] | undefined };

/**
 * Groups of tokens. Each change of a group is a change of its tokens too, so that edges learn of
 * it.
 */
export class GroupStore {
  readonly #database: GatewayDatabase;

  constructor(database: GatewayDatabase) {
    this.#database = database;
  }

  /** @param evenDeleted also a group that only its people are still in. */
  async find(
    groupId: string,
    { evenDeleted = false }: { readonly evenDeleted?: boolean } = {},
  ): Promise<Group | undefined> {
    return await this.#database
      .selectFrom('token_groups')
      .selectAll()
      .where('group_id', '=', groupId)
      .$if(!evenDeleted, (query) => query.where('deleted_at_ms', 'is', null))
      .executeTakeFirst();
  }

  /** All groups, sorted by name. */
  async list(nowMs: number): Promise<readonly CountedGroup[]> {
    const all = this.#database.selectFrom('token_groups').selectAll();
    const groups = await all.where('deleted_at_ms', 'is', null).orderBy('name').execute();
    const counts = await this.#database
      .selectFrom('tokens')
      .select(['group_id', ({ fn }) => fn.countAll<number>().as('tokens')])
      .where('group_id', 'is not', null)
      .where('revoked_at_ms', 'is', null)
      .where(({ or, eb }) => or([eb('expires_at_ms', 'is', null), eb('expires_at_ms', '>', nowMs)]))
      .groupBy('group_id')
      .execute();
    const countOf = new Map(counts.map(({ group_id, tokens }) => [group_id, Number(tokens)]));
    return groups.map((group) => ({ ...group, tokens: countOf.get(group.group_id) ?? 0 }));
  }

  /** Undefined: the name is in use. */
  async add({ name, note, limits, access, unpricedModels }: NewGroup, nowMs: number): Promise<Group | undefined> {
    return await this.#database
      .insertInto('token_groups')
      .values({
        ...{ group_id: randomId(), name, note, created_at_ms: nowMs, revision: 1 },
        ...toGroupLimitColumns(limits),
        ...toAccessColumns(access),
        ...toUnpricedColumn(unpricedModels),
      })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .returningAll()
      .executeTakeFirst();
  }

  /**
   * Changes a group. `conflict`: it has another revision, and nothing was changed. `taken`: the
   * name is in use. Undefined: there is no such group.
   */
  async update(
    groupId: string,
    { name, note, limits, access, unpricedModels }: GroupDetails,
    expectedRevision: number,
  ): Promise<Group | 'conflict' | 'taken' | undefined> {
    const columns: UpdateObject<Database, 'token_groups'> = {
      ...(name === undefined ? {} : { name }),
      ...(note === undefined ? {} : { note }),
      ...(limits === undefined ? {} : toGroupLimitColumns(limits)),
      ...(access === undefined ? {} : toAccessColumns(access)),
      ...(unpricedModels === undefined ? {} : toUnpricedColumn(unpricedModels)),
    };
    return await this.#database.transaction().execute(async (transaction) => {
      const change_sequence = await nextSequence(transaction);
      const before = await groupIn(transaction, groupId);
      if (before === undefined) return undefined;
      if (expectedRevision !== 0 && before.revision !== expectedRevision) return 'conflict';
      if (name !== undefined && (await isNameOfOther(transaction, name, groupId))) return 'taken';
      const group = await transaction
        .updateTable('token_groups')
        .set({ ...columns, revision: sql`revision + 1` })
        .where('group_id', '=', groupId)
        .returningAll()
        .executeTakeFirst();
      await transaction.updateTable('tokens').set({ change_sequence }).where('group_id', '=', groupId).execute();
      return group;
    });
  }

  /**
   * Deletes a group; its tokens leave it. People who are in it, and their tokens, keep its rules
   * until they are in another one. Undefined: there is no such group.
   */
  async delete(groupId: string, nowMs: number): Promise<Group | undefined> {
    return await this.#database.transaction().execute(async (transaction) => {
      const change_sequence = await nextSequence(transaction);
      const group = await groupIn(transaction, groupId);
      if (group === undefined) return undefined;
      await transaction
        .updateTable('token_groups')
        .set({ deleted_at_ms: nowMs, name: `${group.name.slice(0, 60)} (deleted, ${groupId})` })
        .where('group_id', '=', groupId)
        .execute();
      await transaction
        .updateTable('tokens')
        .set({ change_sequence, group_id: null, revision: sql`revision + 1` })
        .where('group_id', '=', groupId)
        .where(({ or, eb, selectFrom }) =>
          or([
            eb('person_id', 'is', null),
            eb('person_id', 'not in', selectFrom('people').select('person_id').where('group_id', '=', groupId)),
          ]),
        )
        .execute();
      await removeLeftGroups(transaction);
      return group;
    });
  }
}

/** Removes deleted groups that no one is in any more. */
async function removeLeftGroups(transaction: Transaction<Database>): Promise<void> {
  await transaction
    .deleteFrom('token_groups')
    .where('deleted_at_ms', 'is not', null)
    .where(sql<boolean>`not exists (select 1 from people where people.group_id = token_groups.group_id)`)
    .where(sql<boolean>`not exists (select 1 from tokens where tokens.group_id = token_groups.group_id)`)
    .execute();
}

/** The sequence's row is locked, so no other change comes in between. */
async function groupIn(transaction: Transaction<Database>, groupId: string): Promise<Group | undefined> {
  return await transaction
    .selectFrom('token_groups')
    .selectAll()
    .where('group_id', '=', groupId)
    .where('deleted_at_ms', 'is', null)
    .executeTakeFirst();
}

async function isNameOfOther(transaction: Transaction<Database>, name: string, groupId: string): Promise<boolean> {
  const other = await transaction
    .selectFrom('token_groups')
    .select('group_id')
    .where('name', '=', name)
    .where('group_id', '<>', groupId)
    .executeTakeFirst();
  return other !== undefined;
}

function toUnpricedColumn(unpricedModels: NewGroup['unpricedModels']) {
  return { unpriced_models: unpricedModels === 'dearest' ? unpricedModels : null };
}

function toGroupLimitColumns({ budget, ...limits }: GroupLimits) {
  return {
    ...toLimitColumns(limits),
    budget_micros: budget?.amountMicros ?? null,
    budget_period: budget?.period ?? null,
  };
}
