import { endFailedProcess } from '@gateway/lifecycle/failed-process';
import { readAdminAddress } from './connection/admin-address.ts';
import { connectTo } from './connection/admin-connection.ts';
import { exitCodeOf, failureText } from './failures.ts';
import { note } from './output/print.ts';
import { buildProgram } from './program.ts';

// A reader that closes its pipe (`| head`) ends the command without an error.
process.stdout.on('error', (failure) => {
  if ('code' in failure && failure.code === 'EPIPE') process.exit(0);
});
try {
  await buildProgram({ env: process.env, connect: connectTo(process.env) }).parseAsync(process.argv);
} catch (thrown) {
  const exitCode = exitCodeOf(thrown);
  if (exitCode !== 0) {
    const text = failureText(thrown, adminUrl());
    if (text !== '') note(text);
    endFailedProcess();
    process.exitCode = exitCode;
  }
}

function adminUrl(): string {
  try {
    return readAdminAddress(process.env).url;
  } catch {
    return 'GATEWAY_ADMIN_URL';
  }
}
