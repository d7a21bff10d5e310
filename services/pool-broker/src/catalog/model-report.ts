/** A model as its provider lists it. */
export interface ProviderModel {
  readonly id: string;
  /** Empty when the provider has no name for it. */
  readonly displayName: string;
}

/** The last report on a pool's model list. */
export interface ModelReport {
  readonly pool: string;
  readonly reportedAtMs: number;
  /** False: the list could not be read at that time. */
  readonly reachable: boolean;
  /** How often reports were to come when it came, or since then if that was longer. Undefined: not known. */
  readonly refreshMs?: number | undefined;
  /** The last list that could be read. Undefined: none ever. */
  readonly models: readonly ProviderModel[] | undefined;
}
