import { visibleText } from '@gateway/presentation/visible-text';
import type { Plain } from '../output/plain.ts';
import { colored, Table } from '../output/table.ts';
import { countText, durationText } from '../output/words.ts';
import { differs, type ShadowResult } from './run-shadow.ts';
import type { Answer, NoAnswer } from './send.ts';
import { usageOf } from './usage.ts';

/** The comparison for people: a row for each request, then what differs. */
export function shadowText(results: readonly ShadowResult[], requested: number): string {
  const table = new Table<ShadowResult>({
    request: ({ request }) => request.name,
    status: ({ from, to }) => both(statusText(from), statusText(to)),
    result: (result) => (differs(result) ? { text: 'differs', color: 'red' } : { text: 'alike', color: 'green' }),
    'first byte': { of: ({ from, to }) => both(time(from, 'firstByteMs'), time(to, 'firstByteMs')), spare: true },
    total: { of: ({ from, to }) => both(time(from, 'totalMs'), time(to, 'totalMs')), spare: true },
    'tokens in/out': { of: ({ from, to }) => both(tokens(from), tokens(to)), spare: true },
  });
  const details = results.filter(({ differences }) => differences.length > 0).map(detailsOf);
  return [table.linesOf(results), ...details, `\n${summaryText(results, requested)}\n`].join('');
}

/** The same for programs. */
export function shadowDocument(results: readonly ShadowResult[], requested: number): Plain {
  return {
    requests: requested,
    compared: results.length,
    differing: results.filter(differs).length,
    results: results.map((result) => ({
      name: result.request.name,
      method: result.request.method,
      path: result.request.path,
      differs: differs(result),
      differences: result.differences.map(({ kind, text, explanation = null }) => ({ kind, text, explanation })),
      from: sideDocument(result.from),
      to: sideDocument(result.to),
    })),
  };
}

function summaryText(results: readonly ShadowResult[], requested: number): string {
  const differing = results.filter(differs).length;
  const sent = results.length === requested ? '' : `, of ${requested} in the recording`;
  const failed = results.filter(({ from, to }) => isError(from) && isError(to)).length;
  const errors = failed === 0 ? '' : ` ${failed} got an error from both.`;
  const counts = `${results.length - differing} alike, ${differing} different`;
  return `${countText(results.length, 'request')} compared${sent}: ${counts}.${errors}`;
}

function detailsOf({ request, differences }: ShadowResult): string {
  const lines = differences.map(({ kind, text, explanation }) => {
    const mark = explanation === undefined ? colored('✗', 'red') : colored('·', 'dim');
    return `${mark} ${kind}: ${visibleText(text)}${explanation === undefined ? '' : ` (${explanation})`}\n`;
  });
  return `\n${visibleText(request.name)}\n${lines.join('')}`;
}

function sideDocument(answer: Answer | NoAnswer): Plain {
  if ('reason' in answer) return { reason: answer.reason };
  const { status, mediaType, firstByteMs, totalMs } = answer;
  const usage = usageOf(answer);
  return { status, mediaType, firstByteMs, totalMs, usage: usage === undefined ? null : { ...usage } };
}

/** Gateways that refuse the same request alike say little about their answers. */
function isError(answer: Answer | NoAnswer): boolean {
  return 'status' in answer && answer.status >= 400;
}

/** One text if both are the same. */
function both(from: string, to: string): string {
  return from === to ? from : `${from} → ${to}`;
}

function statusText(answer: Answer | NoAnswer): string {
  return 'reason' in answer ? '–' : String(answer.status);
}

function time(answer: Answer | NoAnswer, which: 'firstByteMs' | 'totalMs'): string {
  return 'reason' in answer ? '–' : durationText(answer[which]);
}

function tokens(answer: Answer | NoAnswer): string {
  const usage = 'reason' in answer ? undefined : usageOf(answer);
  return usage === undefined ? '–' : `${usage.input}/${usage.output}`;
}
