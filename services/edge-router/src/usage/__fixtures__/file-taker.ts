import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { OutboxFile } from '../outbox-file.ts';

/**
 * A process that creates files in the folder given as first argument, and removes them and those of
 * others, as often as the second argument says. It prints failures.
 */
const [, , folder = '', times = ''] = process.argv;
const take = (name: string) => {
  try {
    OutboxFile.open(join(folder, name), 'off')?.remove();
  } catch (thrown) {
    process.stdout.write(`${thrown}\n`);
  }
};
for (let n = 0; n < Number(times); n++) {
  take(`${randomUUID()}.sqlite`);
  for (const name of readdirSync(folder)) if (name.endsWith('.sqlite')) take(name);
}
