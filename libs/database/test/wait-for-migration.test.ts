import { createTestDatabase } from '@gateway/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { migratePostgres, openPostgres, waitForPostgresMigration } from '../src/postgres/open-postgres.ts';

it('waits until another process has migrated the database, and changes nothing itself', async () => {
  const { url, ...created } = await createTestDatabase();
  onTestFinished(() => created[Symbol.asyncDispose]());
  const notes: string[] = [];
  let isOver = false;
  const waiting = waitForPostgresMigration(url, (text) => notes.push(text)).then(() => {
    isOver = true;
  });
  await expect.poll(() => notes.join()).toMatch(/migrations have not run, \d+-tokens first/);
  expect(isOver).toBe(false);
  expect(await tablesIn(url)).toEqual([]);

  expect((await migratePostgres(url)).length).toBeGreaterThan(0);
  await waiting;
  await waitForPostgresMigration(url, (text) => notes.push(text));
  expect(notes).toHaveLength(1);
});

async function tablesIn(url: string): Promise<readonly string[]> {
  await using database = openPostgres(url);
  return (await database.introspection.getTables()).map(({ name }) => name);
}
