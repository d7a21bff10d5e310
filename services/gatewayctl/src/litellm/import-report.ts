import { visibleText } from '@gateway/presentation/visible-text';
import type { Plain } from '../output/plain.ts';
import { colored, Table } from '../output/table.ts';
import { countText } from '../output/words.ts';
import { type Finding, findingsByText } from './findings.ts';
import type { LitellmImport } from './import-litellm.ts';
import type { TokenImport } from './import-tokens.ts';

/** The list for people. It has no secret. */
export function importText(imported: LitellmImport, tokens?: TokenImport): string {
  const { counts, variables, modelNames } = imported;
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
    tokens === undefined ? '' : tokensText(tokens),
    section('Set before you start the gateway', variables.length === 0 ? '' : set.linesOf(variables)),
    section('What clients send', modelNames.length === 0 ? '' : names.linesOf(modelNames)),
    section('Taken, with a remark', findingsText([...imported.notes, ...(tokens?.notes ?? [])])),
    section('Left out', findingsText([...imported.left, ...(tokens?.left ?? [])])),
  ].join('');
}

/** The same for programs. */
export function importDocument(
  { counts, variables, modelNames, notes, left }: LitellmImport,
  tokens?: TokenImport,
): Plain {
  return {
    counts: { ...counts, ...tokens?.counts },
    variables: variables.map(({ name, valueAt = null }) => ({ name, valueAt })),
    modelNames: modelNames.map(({ from, to }) => ({ from, to })),
    notes: [...notes, ...(tokens?.notes ?? [])].map(({ place, text }) => ({ place, text })),
    left: [...left, ...(tokens?.left ?? [])].map(({ place, text }) => ({ place, text })),
  };
}

function tokensText({ counts: { keys, issued, teams, groups } }: TokenImport): string {
  return `${issued} of ${countText(keys, 'key')} and ${groups} of ${countText(teams, 'team')} taken. Keys get new tokens.\n`;
}

function section(title: string, lines: string): string {
  return lines === '' ? '' : `\n${colored(title, 'dim')}\n\n${lines}`;
}

function findingsText(findings: readonly Finding[]): string {
  return findingsByText(findings)
    .map(({ text, places }) => `${visibleText(text)}\n${places.map((place) => `  ${visibleText(place)}\n`).join('')}`)
    .join('');
}
