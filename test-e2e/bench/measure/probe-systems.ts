import { type BenchCase, bodyOf, isStreamed } from '../bench-cases.ts';
import type { System } from '../systems/system.ts';
import { targetOf } from './run-case.ts';

/** Texts at the end of a stream in either format, or in chat completions. */
const endings = ['data: [DONE]', 'message_stop', 'response.completed'];

/**
 * Checks once, before the measurement, that a system answers a case as a gateway should: the
 * generator checks only status and framing.
 *
 * @returns the problem; undefined if there is none
 */
export async function problemWith(system: System, benchCase: BenchCase): Promise<string | undefined> {
  const target = targetOf(system, benchCase);
  const response = await fetch(`http://127.0.0.1:${target.port}${target.path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...target.headers[0] },
    body: bodyOf(benchCase),
    signal: AbortSignal.timeout(20_000),
  });
  if (benchCase.kind === 'memory' && response.ok) {
    await response.body?.cancel();
    return undefined;
  }
  const text = await response.text();
  if (!response.ok) return `status ${response.status}: ${text.slice(0, 300)}`;
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (isStream !== isStreamed(benchCase)) return `it answered with ${response.headers.get('content-type')}`;
  if (isStream)
    return endings.some((ending) => text.includes(ending)) ? undefined : `it broke off: ${text.slice(-300)}`;
  return text.includes('quick brown fox') ? undefined : `it answered something else: ${text.slice(0, 300)}`;
}
