/** One line about something slow, on standard error: a person should see why nothing happens yet. */
export function reportProgress(text: string): void {
  process.stderr.write(`testkit: ${text}\n`);
}
