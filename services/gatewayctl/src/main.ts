import { CommanderError } from 'commander';
import { handleClosedOutputs } from './output/closed-outputs.ts';
import { buildProgram } from './program.ts';

handleClosedOutputs();
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
