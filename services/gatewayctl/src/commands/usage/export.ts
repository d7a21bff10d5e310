import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { monotonicMs } from '@gateway/time';
import { z } from 'zod';
import type { AdminConnection } from '../../connection/admin-connection.ts';
import { bytesText, countText } from '../../output/words.ts';
import { type PeriodFlags, periodOf } from '../flags.ts';
import type { FilterFlags } from './report.ts';

export interface ExportFlags extends PeriodFlags, FilterFlags {
  readonly what: 'usage' | 'requests';
  readonly format: 'csv' | 'ndjson' | 'focus';
  readonly file?: string;
}

const progressEveryMs = 1_000;

/**
 * Writes all rows as they come, and reports progress. A named file is complete or does not exist.
 */
export async function exportUsage(
  admin: AdminConnection,
  { what, format, file, ...flags }: ExportFlags,
): Promise<void> {
  const { firstDay, lastDay } = periodOf(flags);
  const { token = '', model = '', account = '', group = '' } = flags;
  // Rows of usage are exported by the finest grouping. A group has rows of tokens.
  const finest = group === '' ? 'all' : 'token';
  const grouping = what === 'usage' ? finest : '';
  const filter = { token, model, account_id: account, group_id: group };
  const query = { first_day: firstDay, last_day: lastDay, grouping, ...filter, format };
  const given = Object.entries(query).filter(([, value]) => value !== '');
  const answer = await admin.gateway?.get(`/export/${what}?${new URLSearchParams(given)}`);
  if (answer === undefined) throw new Error('an export needs a running gateway.');
  if (answer.statusCode !== 200) throw new Error(refusalOf(answer.statusCode, await text(answer)));
  const progress = progressOf(format);
  if (file === undefined) await pipeline(answer, progress.count, process.stdout, { end: false });
  else {
    const written = `${file}.part`;
    try {
      await pipeline(answer, progress.count, createWriteStream(written));
      await rename(written, file);
    } finally {
      await rm(written, { force: true });
    }
  }
  progress.end();
}

const refusalSchema = z.object({ fields: z.array(z.object({ field: z.string(), text: z.string() })) });

/** The problems of the parameters, as far as the gateway reports them. */
function refusalOf(status: number | undefined, said: string): string {
  if (status === 401 || status === 403) return 'permission denied. Run gatewayctl whoami to see your role.';
  const refused = refusalSchema.safeParse(parsed(said));
  if (!refused.success) return `the gateway responded with ${status}. See its log for the cause.`;
  return refused.data.fields.map(({ field, text: why }) => `${field}: ${why}`).join(' ');
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/**
 * Reports the number of rows that pass through: on a terminal in one line that changes, otherwise
 * in a line at intervals.
 */
function progressOf(format: ExportFlags['format']) {
  const inPlace = process.stderr.isTTY;
  // A quoted line break of CSV would count as a row: labels have none.
  let rows = format === 'ndjson' ? 0 : -1;
  let bytes = 0;
  let saidAtMs = monotonicMs();
  const say = (end: string) => {
    saidAtMs = monotonicMs();
    process.stderr.write(`${countText(Math.max(0, rows), 'row')}, ${bytesText(bytes)}${end}`);
  };
  return {
    async *count(chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        bytes += chunk.length;
        for (let at = chunk.indexOf(lineEnd); at !== -1; at = chunk.indexOf(lineEnd, at + 1)) rows += 1;
        if (monotonicMs() - saidAtMs >= progressEveryMs) say(inPlace ? '\r' : '\n');
        yield chunk;
      }
    },
    end: () => say('\n'),
  };
}

const lineEnd = 0x0a;
