import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A line of an edge's journal. */
export interface JournalLine {
  readonly kind: 'open' | 'final' | 'void';
  readonly requestId: string;
  /** Undefined for `void`. */
  readonly tokenId: string | undefined;
  readonly admittedAtMs: number | undefined;
  readonly file: string;
}

const kinds = { O: 'open', F: 'final', V: 'void' } as const;

/** Everything that stands in the journals of edges at the moment. */
export async function readJournals(dataFolders: readonly string[]): Promise<readonly JournalLine[]> {
  return (await Promise.all(dataFolders.map((folder) => readFolder(join(folder, 'journal'))))).flat();
}

/** The requests that journals owe the ledger: what has ended, and what was under way when its edge died. */
export function owedBy(lines: readonly JournalLine[]): readonly string[] {
  const voided = new Set(lines.filter(({ kind }) => kind === 'void').map(({ requestId }) => requestId));
  return [...new Set(lines.map(({ requestId }) => requestId))].filter((requestId) => !voided.has(requestId));
}

async function readFolder(folder: string): Promise<readonly JournalLine[]> {
  const names = (await readdir(folder)).filter((name) => name.includes('.journal'));
  const files = names.map(async (name) => {
    // A segment may go while it is about to be read.
    const text = await readFile(join(folder, name), 'utf8').catch(() => '');
    return text.split('\n').flatMap((line) => readLine(line, name));
  });
  return (await Promise.all(files)).flat();
}

function readLine(line: string, file: string): readonly JournalLine[] {
  const [, mark, text = ''] = /^([OFV]) (.+)$/.exec(line) ?? [];
  if (mark !== 'O' && mark !== 'F' && mark !== 'V') return [];
  const kind = kinds[mark];
  if (kind === 'void') return [{ kind, requestId: text, tokenId: undefined, admittedAtMs: undefined, file }];
  try {
    const { requestId = '', tokenId, admittedAt = '' } = JSON.parse(text) as EventJson;
    return [{ kind, requestId, tokenId, admittedAtMs: Date.parse(admittedAt), file }];
  } catch {
    // The last line of a process that was killed while it wrote.
    return [];
  }
}

interface EventJson {
  readonly requestId?: string;
  readonly tokenId?: string;
  readonly admittedAt?: string;
}
