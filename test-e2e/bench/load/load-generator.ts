import { join } from 'node:path';
import { OwnProcess } from '../processes/own-process.ts';
import type { LoadOrder, LoadReport } from './load-order.ts';

/** The generator as the bench sees it. */
export class LoadGenerator implements AsyncDisposable {
  readonly #process: OwnProcess;

  static async start(): Promise<LoadGenerator> {
    const started = await OwnProcess.start(process.execPath, [join(import.meta.dirname, 'main.ts')], { ipc: true });
    await started.message();
    return new LoadGenerator(started);
  }

  private constructor(started: OwnProcess) {
    this.#process = started;
  }

  /** @throws Error if the generator itself fails; failed requests are in the report. */
  async run(order: LoadOrder): Promise<LoadReport> {
    const answer = this.#process.message();
    this.#process.child.send(order);
    // The generator sends only these two kinds of messages.
    const { report, problem } = (await answer) as { readonly report?: LoadReport; readonly problem?: string };
    if (report === undefined) throw new Error(`The load generator failed: ${problem}`);
    return report;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
  }
}
