import {
  CreateOperatorResponseSchema,
  type Operator,
  OperatorSchema,
  OperatorService,
  Role,
  RotateOperatorTokenResponseSchema,
} from '@gateway/proto/admin/v1/operator_service_pb.js';
import { Argument, Command } from 'commander';
import type { AdminConnection } from '../connection/admin-connection.ts';
import { UsageError } from '../failures.ts';
import { type OutputFlags, printList, printMessage, withOutput } from '../output/print.ts';
import type { Columns } from '../output/table.ts';
import { enumWord, timeText } from '../output/words.ts';
import { type CommandContext, noteChange } from './context.ts';
import { idOrPrefix } from './flags.ts';

const roles = { viewer: Role.VIEWER, operator: Role.OPERATOR, admin: Role.ADMIN };
type RoleName = keyof typeof roles;

/** `gatewayctl operator …` */
export function operatorCommand({ connect }: CommandContext): Command {
  const operator = new Command('operator').description(
    'Those who may sign in to the console and here. For admins. <operator> is a name, or the beginning of an id.',
  );
  withOutput(operator.command('list'))
    .description('All operators.')
    .action(async (output: OutputFlags) => {
      await using admin = await connect();
      const { operators } = await admin.clientOf(OperatorService).listOperators({});
      await printList(output, OperatorSchema, [operators], { columns, whenNone: 'There are no operators.' });
    });
  withOutput(operator.command('create'))
    .description('A new operator; its token is printed once: on standard output, and nothing else there.')
    .argument('<name>', '1 to 100 characters')
    .addArgument(roleArgument())
    .action(async (name: string, role: RoleName, output: OutputFlags) => {
      await using admin = await connect();
      const created = await admin.clientOf(OperatorService).createOperator({ name, role: roles[role] });
      printMessage(output, CreateOperatorResponseSchema, created, ({ token }) => `${token}\n`);
      noteChange(admin, `created ${name} (${role}); the token is not shown again`);
    });
  operator
    .command('set-role')
    .description('Gives an operator another role. One of OpenID Connect has that of its groups.')
    .argument('<operator>', 'which one', idOrPrefix)
    .addArgument(roleArgument())
    .action(async (named: string, role: RoleName) => {
      await using admin = await connect();
      await update(admin, named, { role: roles[role] });
      noteChange(admin, `${named} is ${role}`);
    });
  for (const [name, disabled] of [
    ['disable', true],
    ['enable', false],
  ] as const) {
    operator
      .command(name)
      .description(disabled ? 'Keeps an operator out. Its sessions end at once.' : 'Lets an operator in again.')
      .argument('<operator>', 'which one', idOrPrefix)
      .action(async (named: string) => {
        await using admin = await connect();
        await update(admin, named, { disabled });
        noteChange(admin, `${named} is ${name}d`);
      });
  }
  withOutput(operator.command('rotate-token'))
    .description('A new token in place of the old one, printed once. The old one works no more; its sessions end.')
    .argument('<operator>', 'which one', idOrPrefix)
    .action(async (named: string, output: OutputFlags) => {
      await using admin = await connect();
      const { operatorId, revision } = await findOperator(admin, named);
      const request = { operatorId, expectedRevision: revision };
      const rotated = await admin.clientOf(OperatorService).rotateOperatorToken(request);
      printMessage(output, RotateOperatorTokenResponseSchema, rotated, ({ token }) => `${token}\n`);
      noteChange(admin, `${named} has another token, which is not shown again`);
    });
  return operator;
}

function roleArgument(): Argument {
  return new Argument('<role>', 'each may do what the one before it may').choices(Object.keys(roles));
}

async function update(
  admin: AdminConnection,
  named: string,
  change: { role?: Role; disabled?: boolean },
): Promise<void> {
  const { operatorId, revision } = await findOperator(admin, named);
  await admin.clientOf(OperatorService).updateOperator({ operatorId, expectedRevision: revision, ...change });
}

async function findOperator(admin: AdminConnection, named: string): Promise<Operator> {
  const { operators } = await admin.clientOf(OperatorService).listOperators({});
  const byName = operators.filter(({ name }) => name === named);
  const found = byName.length > 0 ? byName : operators.filter(({ operatorId }) => operatorId.startsWith(named));
  const [operator, another] = found;
  if (operator === undefined)
    throw new Error(`there is no operator ${named}. gatewayctl operator list shows all of them.`);
  if (another !== undefined)
    throw new UsageError(`${named} is ${found.map(({ name }) => name).join(' and ')}. Say more of the id.`);
  return operator;
}

const columns: Columns<Operator> = {
  name: ({ name }) => name,
  role: ({ role }) => enumWord(Role, role),
  'signs in': { of: ({ oidcSubject }) => (oidcSubject === '' ? 'with a token' : 'by OpenID Connect'), spare: true },
  'last seen': ({ lastSeenAt }) => timeText(lastSeenAt, 'never'),
  state: ({ disabledAt }) =>
    disabledAt === undefined ? { text: 'enabled', color: 'green' } : { text: 'disabled', color: 'dim' },
  id: { of: ({ operatorId }) => operatorId, spare: true },
};
