/** Why a call to a store failed. Only its text: a driver's error also carries the command, with keys or a password. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error && thrown.message !== '' ? thrown.message : String(thrown);
}
