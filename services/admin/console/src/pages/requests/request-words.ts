import { attemptResultText, endingWords, formatSeconds, type Wording } from '@gateway/presentation';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import {
  type RecordedAttempt,
  RequestEnding,
  type RequestRecorded,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
import type { Tone } from '../../ui/status.tsx';
import { formatMoment } from '../../ui/time.tsx';

/** How sentences about requests format times in the console. */
export const wording: Wording = { moment: formatMoment, duration: durationText };

/** How a request ended, with its status: "Rejected 429". */
export function endingOf({ ending, status }: Pick<RequestRecorded, 'ending' | 'status'>): { tone: Tone; text: string } {
  const word = endingWords[ending];
  return { tone: endingTones[ending], text: `${word.slice(0, 1).toUpperCase()}${word.slice(1)} ${status}` };
}

const endingTones: Readonly<Record<RequestEnding, Tone>> = {
  [RequestEnding.UNSPECIFIED]: 'neutral',
  [RequestEnding.COMPLETED]: 'good',
  [RequestEnding.REFUSED]: 'warn',
  [RequestEnding.FAILED]: 'bad',
  [RequestEnding.ABORTED]: 'neutral',
};

/** Why this account was chosen, and the result. */
export function attemptText(attempt: RecordedAttempt): string {
  const { reason, asked, acquired } = attempt;
  // The broker's answer takes a millisecond or two.
  const waited = acquired - asked < 50 ? '' : ` The broker took ${durationText(acquired - asked)} to select it.`;
  const why = reason === '' ? '' : `Chosen ${reason}.`;
  return `${why}${waited} ${attemptResultText(attempt, wording)}`.trim();
}

export function attemptTone({ result }: RecordedAttempt): Tone {
  if (result === AttemptResult.SUCCEEDED) return 'good';
  return result === AttemptResult.CANCELLED || result === AttemptResult.UNSPECIFIED ? 'neutral' : 'bad';
}

/** "0.4 ms", "120 ms", "2.1 s" */
export function durationText(ms: number): string {
  return ms < 9.95 ? `${ms.toFixed(1)}\u00a0ms` : formatSeconds(ms / 1000);
}
