import { backendText, unreachableText } from '@gateway/config';
import { sql } from 'kysely';
import type { GatewayDatabase } from '../schema/database.ts';

/** Makes sure that the Postgres of DATABASE_URL can be worked with. @throws an error that names it, and says what to do. */
export async function reachPostgres(database: GatewayDatabase, url: string): Promise<void> {
  await named(url, sql`select 1`.execute(database));
}

async function named<T>(url: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    throw new Error(problemText(url, thrown), { cause: thrown });
  }
}

function problemText(url: string, thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : undefined;
  // What the server itself says has a code of five characters, none with an E in front. @see https://www.postgresql.org/docs/current/errcodes-appendix.html
  if (code !== undefined && /^(?!E)[0-9A-Z]{5}$/.test(code)) {
    return `DATABASE_URL: ${backendText('DATABASE_URL', url)} refuses (${message}). Correct DATABASE_URL, or the server's settings.`;
  }
  return unreachableText('DATABASE_URL', url, code ?? message);
}
