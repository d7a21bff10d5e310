import { CommanderError } from 'commander';
import { buildProgram } from './program.ts';

// A reader that closes its pipe (`| head`) ends the command without an error.
process.stdout.on('error', (failure) => {
  if ('code' in failure && failure.code === 'EPIPE') process.exit(0);
});
try {
  const program = await buildProgram(
    {
      env: process.env,
      connect: async (options) => {
        const { connectTo } = await import('./connection/admin-connection.ts');
        return await connectTo(process.env)(options);
      },
    },
    process.argv.slice(2),
  );
  await program.parseAsync(process.argv);
} catch (thrown) {
  // Help and the version end with an error without a failure.
  if (!(thrown instanceof CommanderError && thrown.exitCode === 0)) {
    const { reportFailure } = await import('./report-failure.ts');
    reportFailure(thrown);
  }
}
