import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Row } from '../report/results.ts';
import type { SystemName } from '../systems/system.ts';

/**
 * What a case cost a system when it was last recorded, in times nginx's cost in the same round; by case and system. Of several rounds the
 * least counts: others on the machine make a round dearer, never cheaper, while what a change adds is in every round.
 */
export type RecordedRatios = Readonly<Record<string, Partial<Readonly<Record<SystemName, number>>>>>;

const file = join(import.meta.dirname, 'recorded-ratios.json');

export async function readRecordedRatios(): Promise<RecordedRatios> {
  // Written by writeRecordedRatios alone.
  return JSON.parse(await readFile(file, 'utf8')) as RecordedRatios;
}

export async function writeRecordedRatios(rows: readonly Row[]): Promise<void> {
  await writeFile(file, `${JSON.stringify(ratiosOf(rows), undefined, 2)}\n`);
}

export function ratiosOf(rows: readonly Pick<Row, 'case' | 'system' | 'timesNginx'>[]): RecordedRatios {
  const ratios: Record<string, Partial<Record<SystemName, number>>> = {};
  for (const { case: name, system, timesNginx } of rows) {
    if (timesNginx === undefined || !watchedSystems.includes(system)) continue;
    ratios[name] = { ...ratios[name], [system]: Number(timesNginx.least.toPrecision(3)) };
  }
  return ratios;
}

export const watchedSystems: readonly SystemName[] = ['all-in-one', 'services'];
