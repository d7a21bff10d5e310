import { endFailedProcess } from '@gateway/lifecycle/failed-process';
import { failureText } from './failures.ts';
import { buildProgram } from './program.ts';

try {
  await buildProgram(process.env).parseAsync(process.argv);
} catch (thrown) {
  process.stderr.write(`${failureText(thrown)}\n`);
  endFailedProcess();
}
