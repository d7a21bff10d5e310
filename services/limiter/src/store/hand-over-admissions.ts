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
  for (const [key, ofKey] of admissions) {
    told += ofKey.length;
    for (let start = 0; start < ofKey.length; start += inOneCall) {
      underWay.push(recorder.recordAdmissions(key, ofKey.slice(start, start + inOneCall)));
      if (underWay.length < callsAtOnce) continue;
      await Promise.all(underWay);
      underWay = [];
    }
  }
  await Promise.all(underWay);
  return told;
}

/** A call keeps the store busy for as long as some hundred admissions do. */
const inOneCall = 500;
const callsAtOnce = 50;
