import { expect, it } from 'vitest';
import { freePorts } from './ports.ts';

it('gives different ports, below those of outgoing connections', async () => {
  const ports = await freePorts(20);
  expect(new Set(ports).size).toBe(20);
  for (const port of ports) expect(port).toBeLessThan(32_768);
});
