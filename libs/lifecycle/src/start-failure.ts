import { ConfigError } from '@gateway/config';

/** A start that failed in another process, in the words of that process. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure';
}

/** What to tell the person who started a process that could not start: what is wrong, and what to do. */
export function startFailureText(name: string, thrown: unknown): string {
  if (thrown instanceof ConfigError) {
    return [`${name} can't start:`, ...thrown.problems.map((problem) => `  - ${problem}`)].join('\n');
  }
  if (thrown instanceof StartFailure) return thrown.message;
  if (isAddressInUse(thrown)) {
    return `${name} can't start: ${thrown.address ?? 'the address'}:${thrown.port ?? ''} is taken by another process. Stop it, or choose another port (PORT, ADMIN_PORT, GRPC_PORT).`;
  }
  return `${name} can't start: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
}

interface AddressInUse extends Error {
  readonly address?: string;
  readonly port?: number;
}

function isAddressInUse(thrown: unknown): thrown is AddressInUse {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'EADDRINUSE';
}
