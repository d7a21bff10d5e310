import type { CellName } from './cells.ts';
import type { Scene } from './scene.ts';

/** How one cell of the contract is provoked. */
export interface ContractCase {
  /** As in `specCells`. */
  readonly route: string;
  readonly cell: CellName;
  /** Which of several ways to the same answer; empty when there is one. */
  readonly way: string;
  /** The kinds of token with which it is tried. */
  readonly tokens: readonly TokenKind[];
  /** Sets the scene and says what to send. */
  readonly prepare: (scene: Scene) => CaseRequest | Promise<CaseRequest>;
  /** The error body that a provider sends, when it must come back unchanged. */
  readonly unchanged?: string;
}

export type TokenKind = 'service' | 'personal';

export interface CaseRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

export const bothKinds: readonly TokenKind[] = ['service', 'personal'];

/** Words that only a provider says: no client of chat completions or Messages may ever read them. */
export const providerWords = 'PROVIDER-WORDS';
