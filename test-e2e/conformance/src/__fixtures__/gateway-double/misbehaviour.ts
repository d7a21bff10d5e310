import type { Frame } from '../../double/formats/provider-format.ts';

/** Where the gateway double leaves its way. What is left out it does right. */
export interface Misbehaviour {
  /** What it does not look at. */
  readonly skips?: 'encoding' | 'size';
  /** Members that take the place of those that the provider is asked with. */
  readonly ask?: (body: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
  /** What takes the place of parts of an answer that is no stream, good or not. */
  readonly answer?: (answer: WholeAnswer) => Partial<WholeAnswer>;
  /** Changes a stream. */
  readonly frames?: (frames: AsyncIterable<Frame>) => AsyncIterable<Frame>;
  /** Changes the headers of a stream. */
  readonly streamHeaders?: Readonly<Record<string, string>>;
  readonly asksOneAccountOnly?: true;
  /** Sends once more to the account whose connection ended, whatever connection that was. */
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
