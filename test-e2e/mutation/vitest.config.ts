import { openRoom } from '@gateway/testkit/open-room';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { areas } from './areas.ts';

const { slowness } = (await openRoom()).provide;

/** Unit tests come first. Most changes fail one, and the slower files need not be loaded. */
class UnitsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((one, other) => Number(isUnit(other)) - Number(isUnit(one)));
  }
}

function isUnit({ moduleId }: TestSpecification): boolean {
  return moduleId.includes('/src/');
}

/** The tests of one area, which `main.ts` names in MUTATED_AREA. */
export default defineConfig({
  test: {
    include: [...(areas[process.env.MUTATED_AREA ?? '']?.tests ?? [])],
    setupFiles: ['test-e2e/mutation/setup.ts'],
    isolate: false,
    sequence: { sequencer: UnitsFirst },
    // A changed program may wait for what never comes: that is a failure, and need not take long.
    testTimeout: 20_000 * slowness,
    hookTimeout: 20_000 * slowness,
    expect: { poll: { timeout: 2_000 * slowness } },
    provide: { slowness },
  },
});
