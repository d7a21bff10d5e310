import { writeFileSync } from 'node:fs';
import { gatewayTexts } from './simulated-pools.ts';

export type GatewayVariant = keyof typeof gatewayTexts;

/** When the file began to offer the class `claude`, or ceased to. */
export interface FileChange {
  readonly atMs: number;
  readonly hasClaude: boolean;
}

/** The `gateway.yaml` that all brokers read, and its changes. */
export class GatewayFile {
  readonly path: string;
  readonly changes: FileChange[] = [];
  readonly #nowMs: () => number;
  #variant: GatewayVariant = 'usual';
  #writtenAtMs = 0;

  constructor(path: string, nowMs: () => number) {
    this.path = path;
    this.#nowMs = nowMs;
    this.write('usual');
  }

  /** Whether brokers have read the usual text, so that it may change. */
  get isSettled(): boolean {
    return this.#variant === 'usual' && this.#nowMs() - this.#writtenAtMs > settledAfterMs;
  }

  /** A text that can't be used changes nothing. */
  write(variant: GatewayVariant): void {
    writeFileSync(this.path, gatewayTexts[variant]);
    [this.#variant, this.#writtenAtMs] = [variant, this.#nowMs()];
    if (variant !== 'broken') this.changes.push({ atMs: this.#nowMs(), hasClaude: variant !== 'without claude' });
  }
}

const settledAfterMs = 2_000;
