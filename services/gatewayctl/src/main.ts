import { endFailedProcess } from '@gateway/lifecycle/failed-process';
import { failureText } from './failures.ts';
import { note } from './output.ts';
import { buildProgram } from './program.ts';

// A reader that has seen enough (`| head`) ends the command without an error.
process.stdout.on('error', (failure) => {
  if ('code' in failure && failure.code === 'EPIPE') process.exit(0);
});
try {
  await buildProgram(process.env).parseAsync(process.argv);
} catch (thrown) {
  note(failureText(thrown));
  endFailedProcess();
}
