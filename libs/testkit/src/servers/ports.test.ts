import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { freePorts } from './ports.ts';

it('gives different ports, below those of outgoing connections', async () => {
  const ports = await freePorts(20);
  expect(new Set(ports).size).toBe(20);
  for (const port of ports) expect(port).toBeLessThan(32_768);
});

it('gives no port to two processes that live, though nothing listens on it yet', async () => {
  const mine = new Set(await freePorts(300));
  const code = `const { freePorts } = await import(${JSON.stringify(import.meta.resolve('./ports.ts'))});
    console.log(JSON.stringify(await freePorts(300)));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code]);
  const theirs = JSON.parse(stdout) as readonly number[];
  expect(theirs).toHaveLength(300);
  expect(theirs.filter((port) => mine.has(port))).toEqual([]);
});
