import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { planted, repository } from './planted-copy.ts';
import { plantedFaults } from './planted-faults.ts';

describe('the planted faults', () => {
  it.each(plantedFaults)('can still be planted: $name', (fault) => {
    const code = readFileSync(join(repository, fault.file), 'utf8');
    expect(planted(fault, code)).not.toBe(code);
  });
});
