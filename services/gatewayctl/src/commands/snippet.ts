import {
  apiOfClient,
  type ClientApi,
  type ClientSettings,
  clientModelsOf,
  clientSettingsFor,
} from '@gateway/presentation/client-settings';
import { ConfigurationService } from '@gateway/proto/admin/v1/configuration_service_pb.js';
import { PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { Command } from 'commander';
import type { AdminConnection } from '../connection/admin-connection.ts';
import { UsageError } from '../failures.ts';
import { note, print } from '../output/print.ts';
import { type Columns, Table } from '../output/table.ts';
import type { CommandContext } from './context.ts';

/** `gatewayctl snippet`: the settings that the console shows for a new token. */
export function snippetCommand({ connect }: CommandContext): Command {
  return new Command('snippet')
    .description('Prints the settings that a client needs to use the gateway, with a model of the gateway.')
    .argument('[client]', 'such as claude-code or openai-python; omit to list all')
    .option(
      '--url <address>',
      'address of the gateway as clients reach it (default: PORT on the host of the admin service)',
    )
    .action(async (client: string | undefined, { url }: { readonly url?: string }) => {
      await using admin = await connect({ reads: true });
      const models = clientModelsOf(await admin.clientOf(PoolService).listPools({}));
      const all = clientSettingsFor(url?.replace(/(?<!\/)\/+$/, '') ?? (await publicUrl(admin)), models);
      if (all.length === 0) throw new Error(`no account can serve a model. ${remedy}`);
      if (client === undefined) return print(new Table(columns).linesOf(all));
      const found = all.find(({ id }) => id === client);
      if (found === undefined) throw missing(client, all);
      print(`${found.text}\n`);
      note(
        `# ${found.file === '' ? 'for a shell' : found.file}, with a token in GATEWAY_TOKEN. ${found.note}`.trimEnd(),
      );
    });
}

const remedy = 'Add one with gatewayctl account add; gatewayctl pool status shows the pools.';

/** A client is unknown, or uses an API that needs a provider of the same format. */
function missing(client: string, all: readonly ClientSettings[]): Error {
  const api = apiOfClient(client);
  if (api === undefined) {
    return new UsageError(`no snippet for ${client}. Available: ${all.map(({ id }) => id).join(', ')}.`);
  }
  return new Error(`no account can serve ${client}, which needs ${needs[api]}. ${remedy}`);
}

const needs: Readonly<Record<ClientApi, string>> = {
  chat: 'an account in any pool',
  messages: 'an account in a pool with the format messages',
  responses: 'an account in a pool with the format responses',
};

/** The gateway does not know the proxies before it: a new user reaches it at its own port. */
async function publicUrl({ clientOf, gateway }: AdminConnection): Promise<string> {
  const { settings } = await clientOf(ConfigurationService).getConfiguration({});
  const port = settings.find(({ name }) => name === 'PORT')?.value ?? '8080';
  return `http://${gateway === undefined ? '127.0.0.1' : new URL(gateway.url).hostname}:${port}`;
}

const columns: Columns<ClientSettings> = {
  snippet: ({ id }) => id,
  client: ({ client }) => client,
  file: ({ file }) => file || 'shell',
};
