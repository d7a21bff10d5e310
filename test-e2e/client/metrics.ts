import { roomMs } from '@gateway/testkit/room';

/**
 * The sum of all series of a metric in a process.
 * @param labels only series that also have these labels, in the notation `part="settle"`.
 */
export async function readMetric(adminUrl: string, name: string, labels = ''): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`, { signal: AbortSignal.timeout(roomMs(5_000)) })).text();
  const ofMetric = text.split('\n').filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
  const lines = ofMetric.filter((line) => line.includes(labels));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
