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
    'Manages operators, who can sign in to the console and to gatewayctl. Admins only. <operator> is a name, or the beginning of an id.',
  );
  withOutput(operator.command('list'))
    .description('Lists all operators.')
    .action(async (output: OutputFlags) => {
      await using admin = await connect({ reads: true });
      const { operators } = await admin.clientOf(OperatorService).listOperators({});
      await printList(output, OperatorSchema, [operators], { columns, whenNone: 'No operators.' });
    });
  withOutput(operator.command('create'))
    .description('Creates an operator. Prints the token once, as the only text on standard output.')
    .argument('<name>', '1 to 100 characters')
    .addArgument(roleArgument())
    .action(async (name: string, role: RoleName, output: OutputFlags) => {
      await using admin = await connect();
      const created = await admin.clientOf(OperatorService).createOperator({ name, role: roles[role] });
      await printMessage(output, CreateOperatorResponseSchema, created, ({ token }) => `${token}\n`);
      noteChange(admin, `created ${name} (${role}); copy the token now; you won't see it again`);
    });
  operator
    .command('set-role')
    .description('Changes the role of an operator. With OpenID Connect, groups set the role.')
    .argument('<operator>', 'name, or the beginning of an id', idOrPrefix)
    .addArgument(roleArgument())
    .action(async (named: string, role: RoleName) => {
      await using admin = await connect();
      await update(admin, named, { role: roles[role] });
      noteChange(admin, `${named} now has the role ${role}`);
    });
  for (const [name, disabled] of [
    ['disable', true],
    ['enable', false],
  ] as const) {
    operator
      .command(name)
      .description(disabled ? 'Disables an operator. All sessions end immediately.' : 'Enables an operator again.')
      .argument('<operator>', 'name, or the beginning of an id', idOrPrefix)
      .action(async (named: string) => {
        await using admin = await connect();
        await update(admin, named, { disabled });
        noteChange(admin, `${named} is ${name}d`);
      });
  }
  withOutput(operator.command('rotate-token'))
    .description(
      'Replaces the token of an operator and prints the new one once. The old token stops working, and all sessions end.',
    )
    .argument('<operator>', 'name, or the beginning of an id', idOrPrefix)
    .action(async (named: string, output: OutputFlags) => {
      await using admin = await connect();
      const { operatorId, revision } = await findOperator(admin, named);
      const request = { operatorId, expectedRevision: revision };
      const rotated = await admin.clientOf(OperatorService).rotateOperatorToken(request);
      await printMessage(output, RotateOperatorTokenResponseSchema, rotated, ({ token }) => `${token}\n`);
      noteChange(admin, `${named} has a new token; copy it now, you won't see it again`);
    });
  return operator;
}

function roleArgument(): Argument {
  return new Argument('<role>', 'each role includes the permissions of the previous one').choices(Object.keys(roles));
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
    throw new Error(`no operator ${named}. Run gatewayctl operator list to see all operators.`);
  if (another !== undefined)
    throw new UsageError(`${named} matches ${found.map(({ name }) => name).join(' and ')}. Enter more of the id.`);
  return operator;
}

const columns: Columns<Operator> = {
  name: ({ name }) => name,
  role: ({ role }) => enumWord(Role, role),
  'sign-in': { of: ({ oidcSubject }) => (oidcSubject === '' ? 'token' : 'OpenID Connect'), spare: true },
  'last seen': ({ lastSeenAtMs }) => timeText(lastSeenAtMs, 'never'),
  state: ({ disabledAtMs }) =>
    disabledAtMs === undefined ? { text: 'enabled', color: 'green' } : { text: 'disabled', color: 'dim' },
  id: ({ operatorId }) => operatorId,
};
