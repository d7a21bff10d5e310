import { endFailedProcess } from '@gateway/lifecycle/failed-process';
import { readAdminAddress } from './connection/admin-address.ts';
import { exitCodeOf, failureText } from './failure-text.ts';
import { note } from './output/print.ts';

/** Ends the process: with a message about the failure of its command, and with its exit code. */
export function reportFailure(thrown: unknown): void {
  const text = failureText(thrown, adminUrl());
  if (text !== '') note(text);
  endFailedProcess();
  process.exitCode = exitCodeOf(thrown);
}

function adminUrl(): string {
  try {
    return readAdminAddress(process.env).url;
  } catch {
    return 'GATEWAY_ADMIN_URL';
  }
}
