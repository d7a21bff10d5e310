import { visibleText } from '@gateway/presentation/visible-text';
import type { Plain } from '../output/plain.ts';
import { colored, Table } from '../output/table.ts';
import { countText } from '../output/words.ts';
import { type Finding, findingsByText } from './findings.ts';
import type { LitellmImport } from './import-litellm.ts';

/** The list for people. It has no secret. */
export function importText({ counts, variables, modelNames, notes, left }: LitellmImport): string {
  const { models, taken, pools, accounts } = counts;
  const head = `${taken} of ${countText(models, 'model')} taken: ${countText(pools, 'pool')}, ${countText(accounts, 'account')}.\n`;
  const set = new Table<(typeof variables)[number]>({
    variable: ({ name }) => name,
    value: ({ valueAt }) => (valueAt === undefined ? 'as before' : `that of ${valueAt}`),
  });
  const names = new Table<(typeof modelNames)[number]>({
    'model before': ({ from }) => from,
    'model now': ({ to }) => to,
  });
  return [
    head,
    section('Set before you start the gateway', variables.length === 0 ? '' : set.linesOf(variables)),
    section('What clients send', modelNames.length === 0 ? '' : names.linesOf(modelNames)),
    section('Taken, with a remark', findingsText(notes)),
    section('Left out', findingsText(left)),
  ].join('');
}

/** The same for programs. */
export function importDocument({ counts, variables, modelNames, notes, left }: LitellmImport): Plain {
  return {
    counts: { ...counts },
    variables: variables.map(({ name, valueAt = null }) => ({ name, valueAt })),
    modelNames: modelNames.map(({ from, to }) => ({ from, to })),
    notes: notes.map(({ place, text }) => ({ place, text })),
    left: left.map(({ place, text }) => ({ place, text })),
  };
}

function section(title: string, lines: string): string {
  return lines === '' ? '' : `\n${colored(title, 'dim')}\n\n${lines}`;
}

function findingsText(findings: readonly Finding[]): string {
  return findingsByText(findings)
    .map(({ text, places }) => `${visibleText(text)}\n${places.map((place) => `  ${visibleText(place)}\n`).join('')}`)
    .join('');
}
