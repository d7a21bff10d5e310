import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createClient } from '@connectrpc/connect';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { type Session, SessionSchema, SessionService } from '@gateway/proto/admin/v1/session_service_pb.js';
import { Command } from 'commander';
import { readAdminAddress } from '../connection/admin-address.ts';
import { gatewayTransport } from '../connection/admin-connection.ts';
import { forgetLogin, loginsFile, storeLogin } from '../connection/admin-token.ts';
import { UsageError } from '../failures.ts';
import { note, type OutputFlags, printMessage, withOutput } from '../output/print.ts';
import { factSheet } from '../output/table.ts';
import { enumWord } from '../output/words.ts';
import type { CommandContext } from './context.ts';

/** `gatewayctl login` */
export function loginCommand({ env }: CommandContext): Command {
  return new Command('login')
    .description(
      'Stores an operator token for the gateway at GATEWAY_ADMIN_URL in a file that only you can read. Reads the token from standard input; a terminal does not echo it. With --person, signs you in as a person at GATEWAY_URL instead, in your browser.',
    )
    .option('--person', 'sign in as a person, to use models; gatewayctl token print prints your token')
    .action(async ({ person = false }: { readonly person?: boolean }) => {
      if (person) return await loginPerson(env);
      const { url } = readAdminAddress(env);
      const token = await readToken(url);
      const client = createClient(SessionService, await gatewayTransport(env, url, token));
      const { session } = await client.getSession({});
      await storeLogin(env, url, token);
      note(`signed in to ${url} as ${holderText(session)}; token stored in ${loginsFile(env)}`);
    });
}

/** `gatewayctl logout` */
export function logoutCommand({ env }: CommandContext): Command {
  return new Command('logout')
    .description(
      'Deletes the token that login stored for the gateway at GATEWAY_ADMIN_URL. The token itself stays valid. With --person, ends your session as a person at GATEWAY_URL.',
    )
    .option('--person', 'end your session as a person')
    .action(async ({ person = false }: { readonly person?: boolean }) => {
      if (person) return await logoutPerson(env);
      const { url } = readAdminAddress(env);
      note((await forgetLogin(env, url)) ? `signed out of ${url}` : `no login for ${url}`);
    });
}

/** `gatewayctl whoami` */
export function whoamiCommand({ connect }: CommandContext): Command {
  return withOutput(new Command('whoami'))
    .description('Shows who you are signed in as, and your role.')
    .action(async (output: OutputFlags) => {
      await using admin = await connect({ running: true });
      const { session } = await admin.clientOf(SessionService).getSession({});
      const textOf = (known: Session) => factSheet({ gateway: admin.gateway?.url, 'signed in as': holderText(known) });
      await printMessage(output, SessionSchema, session, textOf);
    });
}

async function loginPerson(env: CommandContext['env']): Promise<void> {
  const { readGatewayUrl, signInPerson } = await import('../connection/person-session.ts');
  const url = readGatewayUrl(env);
  const { email } = await signInPerson(env, url, ({ userCode, completeUrl }) => {
    note(`open ${completeUrl} in your browser, and compare the code: ${userCode}`);
  });
  note(`signed in to ${url}${email === '' ? '' : ` as ${email}`}`);
}

async function logoutPerson(env: CommandContext['env']): Promise<void> {
  const { readGatewayUrl, signOutPerson } = await import('../connection/person-session.ts');
  const url = readGatewayUrl(env);
  note((await signOutPerson(env, url)) ? `signed out of ${url}` : `you were not signed in to ${url}`);
}

export function holderText(session: Session | undefined): string {
  const { holder } = session ?? {};
  if (holder?.case === 'operator') return `${holder.value.name} (${enumWord(Role, holder.value.role)})`;
  if (holder?.case === 'person') return `${holder.value.email || holder.value.name}, who has no role`;
  return holder?.case === 'token' ? `the token ${holder.value.label}, which can only see its own usage` : 'no one';
}

async function readToken(url: string): Promise<string> {
  const token = (process.stdin.isTTY ? await askFor(`Operator token for ${url}: `) : await text(process.stdin)).trim();
  if (token === '') throw new UsageError('no token given. An operator token begins with gw_a_.');
  return token;
}

/** Asks on the terminal without echoing the input. */
async function askFor(question: string): Promise<string> {
  process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true });
  try {
    return await terminal.question('');
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}
