import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';

/** The capacity of a machine. */
export interface Room {
  /** How many times slower than a usual machine this one is; 1 on faster ones. */
  readonly slowness: number;
  /** How many test files may run concurrently. */
  readonly workers: number;
}

/**
 * Measures how fast this machine currently completes a fixed piece of work, at the concurrency of
 * the test files. Other load on the machine, and a fraction of a processor instead of a whole one,
 * count as slowness.
 */
export async function measureRoom(): Promise<Room> {
  const pieces = availableParallelism() + filesBesideCores;
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: pieces }, () => promisify(execFile)(process.execPath, ['-e', piece])));
  return roomOf({ pieces, tookMs: performance.now() - startedMs });
}

/** The capacity of a machine that completed this many concurrent pieces of work in this time. */
export function roomOf({ pieces, tookMs }: { readonly pieces: number; readonly tookMs: number }): Room {
  const speed = pieces / tookMs / usualPiecesPerMs;
  const workers = Math.min(pieces, Math.max(leastFiles, Math.round(usualFiles * speed)));
  return { slowness: Math.min(mostSlowness, Math.max(1, Math.round(10 / speed) / 10)), workers };
}

/** Settings of gateways, which are scaled too, have upper bounds. */
const mostSlowness = 10;

/**
 * Test files wait for servers, gateways and pages more than they compute. More than this would
 * starve each other.
 */
const filesBesideCores = 3;

/** A usual machine has two cores. */
const usualFiles = 2 + filesBesideCores;

/** A waiting file does not keep another from running. */
const leastFiles = 2;

/** Measured on two idle cores. */
const usualPiecesPerMs = 5 / 560;

/** Starts Node, then parses and writes JSON: the work that tests and gateways do most. */
const piece = `
const text = JSON.stringify(Array.from({ length: 2_000 }, (_, n) => ({ n, text: 'x'.repeat(n % 50) })));
for (let n = 0; n < 500; n++) JSON.stringify(JSON.parse(text));
`;
