import { type ConnectRouter, createClient, createRouterTransport } from '@connectrpc/connect';
import type { Environment } from '@gateway/config/env-reader';
import type { AdminConnection, RunningGateway } from '../connection/admin-connection.ts';
import { exitCodeOf, failureText } from '../failure-text.ts';
import { buildProgram } from '../program.ts';
import { RememberingTerminal } from './remembering-terminal.ts';

/** gatewayctl in front of a fake admin API. */
export class CommandLine {
  readonly terminal = new RememberingTerminal();
  readonly #routes: (router: ConnectRouter) => void;
  readonly #env: Environment;
  readonly #gateway: RunningGateway | undefined;

  constructor(routes: (router: ConnectRouter) => void, env: Environment = {}, gateway?: RunningGateway) {
    this.#routes = routes;
    this.#env = env;
    this.#gateway = gateway;
  }

  get connection(): AdminConnection {
    const transport = createRouterTransport(this.#routes);
    return {
      clientOf: (service) => createClient(service, transport),
      database: undefined,
      gateway: this.#gateway,
      async [Symbol.asyncDispose]() {},
    };
  }

  /** Runs one command to its end. */
  async run(...args: readonly string[]) {
    this.terminal.printed = '';
    this.terminal.notes.length = 0;
    const program = await buildProgram({ env: this.#env, connect: async () => this.connection }, args);
    let exitCode = 0;
    try {
      await program.parseAsync(args, { from: 'user' });
    } catch (thrown) {
      exitCode = exitCodeOf(thrown);
      this.terminal.notes.push(failureText(thrown, 'http://gateway.test'));
    }
    const { printed, lines, notes } = this.terminal;
    return { exitCode, printed, lines, json: () => JSON.parse(printed), notes: notes.join('\n') };
  }
}
