import type { CellName } from './cells.ts';
import type { Scene } from './scene.ts';

/** A case that provokes one cell of the contract. */
export interface ContractCase {
  /** As in `specCells`. */
  readonly route: string;
  readonly cell: CellName;
  /** One of several ways to the same answer; empty if there is only one. */
  readonly way: string;
  /** The kinds of token that run it. */
  readonly tokens: readonly TokenKind[];
  /** Prepares the scene and returns the request. */
  readonly prepare: (scene: Scene) => CaseRequest | Promise<CaseRequest>;
  /** The provider's error body, if it must come back unchanged. */
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

/** Words of the provider: no client of chat completions or Messages may ever see them. */
export const providerWords = 'PROVIDER-WORDS';
