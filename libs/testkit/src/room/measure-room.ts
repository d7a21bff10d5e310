import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';

/** What a machine bears. */
export interface Room {
  /** How many times as long as on a usual machine things take; 1 on faster ones. */
  readonly slowness: number;
  /** How many test files may run at a time. */
  readonly workers: number;
}

/**
 * Measures how fast this machine gets a fixed piece of work done just now, with as much of it at once as there would be test files.
 * What else the machine does at the time, and a share of a processor in place of a whole one, count as slowness.
 */
export async function measureRoom(): Promise<Room> {
  const pieces = availableParallelism() + filesBesideCores;
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: pieces }, () => promisify(execFile)(process.execPath, ['-e', piece])));
  return roomOf({ pieces, tookMs: performance.now() - startedMs });
}

/** The room of a machine that has done so many pieces of work, all at once, in this time. */
export function roomOf({ pieces, tookMs }: { readonly pieces: number; readonly tookMs: number }): Room {
  const speed = pieces / tookMs / usualPiecesPerMs;
  const workers = Math.min(pieces, Math.max(leastFiles, Math.round(usualFiles * speed)));
  return { slowness: Math.min(mostSlowness, Math.max(1, Math.round(10 / speed) / 10)), workers };
}

/** Settings of gateways, which are given room too, have bounds. */
const mostSlowness = 10;

/** Files wait for servers, gateways and pages more than they work. Still more at a time would starve each other. */
const filesBesideCores = 3;

/** A usual machine has two cores. */
const usualFiles = 2 + filesBesideCores;

/** One that waits keeps no other from working. */
const leastFiles = 2;

/** Of two cores that have nothing else to do. */
const usualPiecesPerMs = 5 / 560;

/** Starts Node, then parses and writes JSON: what tests and gateways do most. */
const piece = `
const text = JSON.stringify(Array.from({ length: 2_000 }, (_, n) => ({ n, text: 'x'.repeat(n % 50) })));
for (let n = 0; n < 500; n++) JSON.stringify(JSON.parse(text));
`;
