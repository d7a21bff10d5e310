import type { RecordedAdmission } from './limit-store.ts';

/** Takes note of requests that were admitted elsewhere, each once. */
export interface AdmissionRecorder {
  recordAdmissions(key: string, admissions: readonly RecordedAdmission[]): Promise<void>;
}

/** Tells a recorder all of these, a bounded number at a time. Fails when the recorder does. Answers how many there were. */
export async function handOverAdmissions(
  admissions: Iterable<readonly [string, readonly RecordedAdmission[]]>,
  recorder: AdmissionRecorder,
): Promise<number> {
  let told = 0;
  let underWay: Promise<void>[] = [];
  let weight = 0;
  for (const [key, ofKey] of admissions) {
    told += ofKey.length;
    for (let start = 0; start < ofKey.length; start += mostAtOnce) {
      const some = ofKey.slice(start, start + mostAtOnce);
      if (weight + some.length > mostAtOnce || underWay.length === callsAtOnce) {
        await Promise.all(underWay);
        underWay = [];
        weight = 0;
      }
      underWay.push(recorder.recordAdmissions(key, some));
      weight += some.length;
    }
  }
  await Promise.all(underWay);
  return told;
}

/**
 * Admissions on their way at a time: a store that has trouble enough must answer each call within its deadline, or the outage
 * begins anew, and with it all of this.
 */
const mostAtOnce = 500;
/** Most keys have few. */
const callsAtOnce = 50;
