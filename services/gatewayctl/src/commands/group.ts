import { createInterface } from 'node:readline/promises';
import { moneyText } from '@gateway/presentation';
import {
  CreateGroupResponseSchema,
  type GroupListing,
  GroupListingSchema,
  GroupService,
} from '@gateway/proto/admin/v1/group_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { UnpricedModels } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { BudgetPeriod } from '@gateway/proto/limiter/v2/limit_pb.js';
import { Command, InvalidArgumentError } from 'commander';
import { findGroup } from '../connection/named-group.ts';
import { UsageError } from '../failures.ts';
import { type OutputFlags, printList, printMessage, withOutput } from '../output/print.ts';
import { type Columns, colored, factSheet } from '../output/table.ts';
import { countText, timeText } from '../output/words.ts';
import { type CommandContext, noteAll, noteChange } from './context.ts';
import { idOrPrefix } from './flags.ts';
import { changedAccess, changedLimits, strictText, type TermFlags, withTerms } from './terms.ts';

/** `gatewayctl group …` */
export function groupCommand({ connect }: CommandContext): Command {
  const group = new Command('group').description(
    'Manages groups: tokens that share limits, a budget and access rules. <group> is an id, the beginning of an id, or a name.',
  );
  withOutput(group.command('list'))
    .description('Lists groups by name, with the current use of their limits.')
    .action(async (output: OutputFlags) => {
      await using admin = await connect({ reads: true });
      const { groups, currency } = await admin.clientOf(GroupService).listGroups({});
      const whenNone = 'No groups. Create one with gatewayctl group create.';
      await printList(output, GroupListingSchema, [groups], { columns: columnsIn(currency), whenNone });
    });
  withOutput(group.command('show'))
    .description('Shows a group with its limits and rules.')
    .argument('<group>', 'id, beginning of an id, or name', idOrPrefix)
    .action(async (named: string, output: OutputFlags) => {
      await using admin = await connect({ reads: true });
      const { group: found, currency } = await findGroup(admin, named);
      const page = { search: '', groupId: found.group?.groupId ?? '', pageSize: maxTokensShown };
      const { tokens } = found.group?.tokens ? await admin.clientOf(TokenService).listTokens(page) : { tokens: [] };
      const labels = tokens.map(({ token }) => token?.label ?? '');
      await printMessage(output, GroupListingSchema, found, (listing) => groupText(listing, currency, labels));
    });
  withOutput(withGroupTerms(group.command('create')))
    .description('Creates a group. Add tokens with gatewayctl token issue --group or token set --group.')
    .argument('<name>', 'name, unique among groups: 1 to 100 characters on one line')
    .action(async (name: string, { note = '', output, ...flags }: GroupFlags & OutputFlags) => {
      await using admin = await connect();
      const { unpricedModels = UnpricedModels.UNSPECIFIED } = flags;
      const terms = { limits: changedLimits(flags) ?? {}, access: changedAccess(flags) ?? {}, unpricedModels };
      const request = { name, note, ...terms };
      const created = await admin.clientOf(GroupService).createGroup(request);
      await printMessage({ output }, CreateGroupResponseSchema, created, ({ group: made }) => `${made?.groupId}\n`);
      noteChange(admin, `created ${created.group?.groupId} (${name})`);
      noteAll(created.warnings);
    });
  withGroupTerms(group.command('set'))
    .description(
      'Changes the given details of a group. They apply to new requests within a second, or TOKEN_CACHE_SECONDS while an edge does not hear from identity.',
    )
    .argument('<group>', 'id, beginning of an id, or name', idOrPrefix)
    .option('--name <text>', 'new name')
    .option('--yes', yesText)
    .action(async (named: string, { name, note, yes, ...flags }: GroupFlags & Yes & { readonly name?: string }) => {
      if (name === undefined && note === undefined && Object.keys(flags).length === 0)
        throw new UsageError('nothing to change: see gatewayctl group set --help.');
      await using admin = await connect();
      const { group: listing } = await findGroup(admin, named);
      const { groupId = '', revision = 0, limits, access } = listing.group ?? {};
      if (name !== undefined && name !== listing.group?.name) await confirmNamed(listing, 'renamed', yes);
      const { group: changed, warnings } = await admin.clientOf(GroupService).updateGroup({
        ...{ groupId, name, note, expectedRevision: revision },
        limits: changedLimits(flags, limits),
        access: changedAccess(flags, access),
        unpricedModels: flags.unpricedModels ?? UnpricedModels.UNSPECIFIED,
      });
      noteChange(admin, `changed ${groupId} (${changed?.name})`);
      noteAll(warnings);
    });
  group
    .command('delete')
    .description(
      'Deletes a group. Its tokens stay valid, and belong to no group. Those of people keep its limits and rules until the people are in another group.',
    )
    .argument('<group>', 'id, beginning of an id, or name', idOrPrefix)
    .option('--yes', yesText)
    .action(async (named: string, { yes }: Yes) => {
      await using admin = await connect();
      const { group: listing } = await findGroup(admin, named);
      const { groupId = '', name = '', tokens = 0 } = listing.group ?? {};
      await confirmNamed(listing, 'deleted', yes);
      await admin.clientOf(GroupService).deleteGroup({ groupId });
      noteChange(admin, `deleted ${groupId} (${name}); ${countText(tokens, 'token')} had it`);
    });
  return group;
}

/** People find their group by the name in a setting. */
async function confirmNamed({ group, namedBy }: GroupListing, how: 'renamed' | 'deleted', yes = false): Promise<void> {
  if (yes || namedBy.length === 0) return;
  const text = `${namedBy.join(' and ')} names the group ${group?.name}. If it is ${how}, its people can't sign in until you change the setting, and keep the rules that they have.`;
  if (!process.stdin.isTTY) throw new UsageError(`${text} To do it anyway, use --yes.`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${text} Type the name of the group to go on: `);
    if (answer.trim() !== group?.name) throw new UsageError('nothing was changed.');
  } finally {
    terminal.close();
  }
}

const yesText = 'do it even if a setting names the group';

type Yes = { readonly yes?: boolean };

type GroupFlags = TermFlags & { readonly unpricedModels?: UnpricedModels };

function withGroupTerms(command: Command): Command {
  return withTerms(command)
    .option('--budget <amount/period>', 'money per day, week or month: 250/month, or none', budgetOrNone)
    .option(
      '--unpriced-models <what>',
      'with a budget, models without a price: refuse (the default), or dearest (at the dearest price of their pool)',
      unpricedModels,
    );
}

function unpricedModels(text: string): UnpricedModels {
  if (text === 'refuse') return UnpricedModels.REFUSE;
  if (text === 'dearest') return UnpricedModels.DEAREST;
  throw new InvalidArgumentError('It must be refuse or dearest.');
}

const periods = { day: BudgetPeriod.DAY, week: BudgetPeriod.WEEK, month: BudgetPeriod.MONTH };

/** "250/month", "12.50/day" or "none" */
function budgetOrNone(text: string) {
  if (text === 'none') return text;
  const { amount = '', period = '' } = /^(?<amount>\d{1,9}(?:\.\d{1,6})?)\/(?<period>\w+)$/.exec(text)?.groups ?? {};
  if (amount === '' || !Object.hasOwn(periods, period))
    throw new InvalidArgumentError('It must be an amount and a period such as 250/month, or none.');
  const [whole = '', fraction = ''] = amount.split('.');
  return {
    amountMicros: Number(whole + fraction.padEnd(6, '0')),
    period: periods[period as keyof typeof periods],
  };
}

const maxTokensShown = 50;

function columnsIn(currency: string): Columns<GroupListing> {
  return {
    id: ({ group }) => group?.groupId ?? '',
    name: ({ group }) => group?.name ?? '',
    tokens: ({ group }) => group?.tokens ?? 0,
    'requests/min': requestsText,
    'tokens/day': tokensText,
    running: runningText,
    budget: (listing) => budgetText(listing, currency),
  };
}

function groupText(listing: GroupListing, currency: string, labels: readonly string[]): string {
  const { mayExceedMicros } = listing;
  const { group, limits, budgetEndsAtMs, tokensByDay } = listing;
  const more = (group?.tokens ?? 0) - labels.length;
  const warnings = listing.warnings.map((text) => `\n${colored('!', 'yellow')} ${text}\n`).join('');
  return `${factSheet({
    ...{ id: group?.groupId, name: group?.name },
    tokens: [...labels, ...(more > 0 ? [`${more} more`] : [])].join(', ') || '0',
    'requests/min': requestsText(listing),
    'tokens/day': tokensText(listing),
    running: runningText(listing),
    budget: budgetText(listing, currency),
    'may be exceeded by': mayExceedMicros === 0 ? undefined : moneyText(mayExceedMicros, currency),
    'unpriced models': unpricedText(group),
    'budget resets': timeText(limits?.budget?.resetsAtMs),
    'used up at this rate': timeText(budgetEndsAtMs),
    models: group?.access?.models.join(', '),
    'account labels': group?.access?.accountLabels.join(', '),
    'last days': tokensByDay.join(' '),
    created: timeText(group?.createdAtMs),
    note: group?.note,
  })}${warnings}`;
}

function requestsText({ group, limits }: GroupListing): string {
  const [limit, left] = [group?.limits?.requestsPerMinute, limits?.requests?.remaining];
  return usedText(limit, limit === undefined || left === undefined ? undefined : Math.max(0, limit - left));
}

function tokensText({ group, limits, tokensByDay }: GroupListing): string {
  const used = usedText(group?.limits?.tokensPerDay, limits === undefined ? undefined : tokensByDay.at(-1));
  return `${used}${strictText(group?.limits)}`;
}

function runningText({ group, limits }: GroupListing): string {
  return usedText(group?.limits?.concurrentRequests, limits?.concurrency?.running);
}

/** "12.50 EUR of 250.00 EUR per month, 0.10 EUR reserved" */
function budgetText({ group, limits }: GroupListing, currency: string): string {
  const budget = group?.limits?.budget;
  if (budget === undefined) return '–';
  const whole = `${moneyText(budget.amountMicros, currency)} per ${BudgetPeriod[budget.period]?.toLowerCase()}`;
  if (limits?.budget === undefined) return whole;
  const { spentMicros, reservedMicros } = limits.budget;
  const reserved = reservedMicros === 0 ? '' : `, ${moneyText(reservedMicros, currency)} reserved`;
  return `${moneyText(spentMicros, currency)} of ${whole}${reserved}`;
}

/** What the budget does with models without a price. Undefined without a budget. */
function unpricedText(group: GroupListing['group']): string | undefined {
  if (group?.limits?.budget === undefined) return undefined;
  return group.unpricedModels === UnpricedModels.DEAREST ? 'cost as the dearest of their pool' : 'refused';
}

/** "12 of 60"; only the limit if the limiter could not be asked. */
function usedText(limit: number | undefined, used: number | undefined): string {
  if (limit === undefined) return '–';
  return used === undefined ? `${limit}` : `${used} of ${limit}`;
}
