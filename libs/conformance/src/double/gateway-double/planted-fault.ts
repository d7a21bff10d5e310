import type { Endpoint } from '../../target/gateway-client.ts';
import type { Frame } from '../formats/provider-format.ts';

/** One thing that a gateway does wrong, and the check that must find it. */
export interface PlantedFault {
  readonly name: string;
  /** Name of a check. */
  readonly breaks: string;
  readonly behaviour: Misbehaviour;
}

/** Where the gateway double leaves its way. What is left out it does right. */
export interface Misbehaviour {
  /** What it does not look at. */
  readonly skips?: readonly RuleName[];
  /** Changes what the provider is asked. */
  readonly ask?: (ask: ProviderAsk) => ProviderAsk;
  /** Changes an answer that is no stream, good or not. */
  readonly answer?: (answer: WholeAnswer, endpoint: Endpoint) => WholeAnswer;
  /** Changes a stream. */
  readonly frames?: (frames: AsyncIterable<Frame>, endpoint: Endpoint) => AsyncIterable<Frame>;
  /** Changes the headers of a stream. */
  readonly streamHeaders?: Readonly<Record<string, string>>;
  readonly asksOneAccountOnly?: true;
  readonly ignoresHangUps?: true;
  /** What of the provider's answer it passes on with its own. */
  readonly passesOn?: readonly ('errors' | 'cuts-as-ends')[];
  readonly countsTwice?: true;
  readonly slotsMore?: number;
  readonly waitsSecondsLess?: number;
  readonly countsUsageRequests?: true;
  readonly listsModels?: (models: readonly Model[]) => readonly Model[];
}

export type RuleName = 'encoding' | 'size';

export interface ProviderAsk {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface WholeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Model {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly owned_by: string;
  readonly name: string;
}
