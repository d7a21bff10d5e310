import { conformanceCommand } from './command/command.ts';
import { exitCodeOf, failureText } from './command/failures.ts';

// A reader that closes its pipe (`| head`) ends the command without an error.
process.stdout.on('error', (failure) => {
  if ('code' in failure && failure.code === 'EPIPE') process.exit(0);
});
try {
  await conformanceCommand().parseAsync(process.argv);
} catch (thrown) {
  process.stderr.write(failureText(thrown));
  process.exitCode = exitCodeOf(thrown);
}
