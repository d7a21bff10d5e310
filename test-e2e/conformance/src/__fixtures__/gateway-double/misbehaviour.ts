import type { Frame } from '../../double/formats/provider-format.ts';

/** The faults of the gateway double. It behaves correctly where a member is left out. */
export interface Misbehaviour {
  /** The check of a request that it skips. */
  readonly skips?: 'encoding' | 'size';
  /** Members that replace those of the request to the provider. */
  readonly ask?: (body: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
  /** Replaces parts of an answer that is no stream, whatever its status. */
  readonly answer?: (answer: WholeAnswer) => Partial<WholeAnswer>;
  /** Changes a stream. */
  readonly frames?: (frames: AsyncIterable<Frame>) => AsyncIterable<Frame>;
  /** Changes the headers of a stream. */
  readonly streamHeaders?: Readonly<Record<string, string>>;
  readonly asksOneAccountOnly?: true;
  /** Retries on the account whose connection ended, even if the connection was new. */
  readonly asksSameAccountAgain?: true;
  readonly ignoresHangUps?: true;
  readonly passesErrorsOn?: true;
  readonly endsCutStreams?: true;
  readonly countsTwice?: true;
  readonly slotsMore?: number;
  readonly waitsSecondsLess?: number;
  readonly countsUsageRequests?: true;
}

export interface WholeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: Readonly<Record<string, unknown>>;
}
