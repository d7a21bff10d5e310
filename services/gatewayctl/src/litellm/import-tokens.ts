import { ConfigError, parseYaml } from '@gateway/config';
import { type Finding, Findings, isMap } from './findings.ts';
import type { ModelName } from './import-litellm.ts';
import { InputValue } from './input-value.ts';
import { optionText, quoted } from './shell-text.ts';

/** The answers of LiteLLM's admin API, which has keys and teams in its database. */
export interface Exports {
  /** GET /key/list?return_full_object=true */
  readonly keys?: ExportedFile | undefined;
  /** GET /team/list */
  readonly teams?: ExportedFile | undefined;
}

interface ExportedFile {
  readonly name: string;
  readonly text: string;
}

export interface TokenImport {
  /** A shell script with commands that create groups and issue tokens. */
  readonly script: string;
  readonly counts: { readonly keys: number; readonly issued: number; readonly teams: number; readonly groups: number };
  readonly notes: readonly Finding[];
  readonly left: readonly Finding[];
}

/**
 * Makes commands for groups and tokens with the limits of teams and keys. LiteLLM keeps hashes of
 * keys only, so each key needs a new token.
 * @throws ConfigError with file, line and column, if a file is no JSON.
 */
export function importTokens({ keys, teams }: Exports, modelNames: readonly ModelName[], nowMs: number): TokenImport {
  const [teamFile, keyFile] = [readExport(teams, 'teams'), readExport(keys, 'keys')];
  const models = new Map(modelNames.map(({ from, to }) => [from, to]));
  const names = new Set<string>();
  const groups = teamFile.entries.flatMap((team) => groupOf(team, models, names) ?? []);
  const groupNames = new Map(groups.map(({ id, name }) => [id, name]));
  const tokens = keyFile.entries.flatMap((key) => tokenOf(key, models, names, groupNames, nowMs) ?? []);
  return {
    script: scriptOf([...groups, ...tokens].flatMap(({ commands }) => commands)),
    counts: {
      ...{ keys: keyFile.entries.length, issued: tokens.length },
      ...{ teams: teamFile.entries.length, groups: groups.length },
    },
    notes: [...teamFile.findings(), ...keyFile.findings()].flatMap(({ notes }) => notes),
    left: [...teamFile.findings(), ...keyFile.findings()].flatMap(({ left }) => left),
  };
}

function scriptOf(commands: readonly string[]): string {
  return `#!/bin/sh
# gatewayctl import litellm made this file. Read it before you run it.
# LiteLLM keeps hashes of keys only, so each key needs a new token. A command prints its token once.
set -eu
${commands.map((command) => `${command}\n`).join('')}`;
}

/** A list, or an object with the list under that name. */
function readExport(file: ExportedFile | undefined, member: string) {
  if (file === undefined) return { entries: [], findings: () => [] };
  const { value } = parseYaml(file.text, file.name);
  const list = isMap(value) ? value[member] : value;
  if (!Array.isArray(list)) throw new ConfigError([`${file.name}:1:1: it is no list of ${member}.`]);
  const findings = new Findings();
  const root = new InputValue(list, findings);
  const placed = (found: readonly Finding[]) =>
    found.map(({ place, text }) => ({ place: `${file.name}: ${member}${place}`, text }));
  return {
    entries: root.items(),
    findings: () => {
      const { left, notes } = findings.of(list);
      return [{ left: placed(left), notes: placed(notes) }];
    },
  };
}

interface Made {
  readonly id: string;
  readonly name: string;
  readonly commands: readonly string[];
}

function groupOf(team: InputValue, models: ModelMap, names: Set<string>): Made | undefined {
  const id = team.at('team_id').text ?? '';
  if (isBlocked(team)) return refuse(team, 'It is blocked.');
  const access = modelsOf(team, models);
  const [limits, budget] = [limitsOf(team), budgetOf(team)];
  if (access === undefined || limits === undefined || budget === undefined) return undefined;
  const name = freeLabel(team.at('team_alias').text ?? id, names);
  if (name === undefined) return refuse(team, noLabel);
  passBy(team, ['team_id', 'team_alias', 'blocked', ...bookkeeping]);
  const options = [...limits, ...budget, ...access];
  return { id, name, commands: [`gatewayctl group create ${[quoted(name), ...options].join(' ')}`] };
}

function tokenOf(
  key: InputValue,
  models: ModelMap,
  names: Set<string>,
  groups: ReadonlyMap<string, string>,
  nowMs: number,
): Made | undefined {
  if (!isMap(key.value)) return refuse(key, 'It has no details: export with return_full_object=true.');
  if (isBlocked(key)) return refuse(key, 'It is blocked.');
  const expires = key.at('expires');
  const expiresMs = expires.isGiven ? Date.parse(zoned(expires.text ?? '')) : undefined;
  if (Number.isNaN(expiresMs)) return refuse(key, 'Its expiry is no time.');
  if (expiresMs !== undefined && expiresMs <= nowMs) return refuse(key, 'It has expired.');
  const teamId = key.at('team_id').text;
  const team = teamId === undefined ? undefined : groups.get(teamId);
  if (teamId !== undefined && team === undefined) {
    return refuse(key, 'Its team is not in the teams that are taken, so the limits of the team are unknown.');
  }
  const access = modelsOf(key, models);
  const [limits, own] = [limitsOf(key), team === undefined ? budgetOf(key) : []];
  if (access === undefined || limits === undefined || own === undefined) return undefined;
  const label = freeLabel(key.at('key_alias').text ?? key.at('key_name').text ?? '', names);
  if (label === undefined) return refuse(key, noLabel);
  passBy(key, ['team_id', 'key_alias', 'key_name', 'token', 'blocked', 'expires', ...bookkeeping]);
  if (team !== undefined && key.at('max_budget').isGiven) {
    key.at('max_budget').leave('Its team has the budget. A token has none of its own.');
    passBy(key, ['budget_duration']);
  }
  const group = own.length > 0 ? label : team;
  const options = [
    ...limits,
    ...access,
    ...(group === undefined ? [] : [optionText('--group', group)]),
    ...(expiresMs === undefined ? [] : [optionText('--expires', new Date(expiresMs).toISOString())]),
  ];
  const issue = `gatewayctl token issue ${[optionText('--label', label), ...options].join(' ')}`;
  const create = own.length === 0 ? [] : [`gatewayctl group create ${[quoted(label), ...own].join(' ')}`];
  return { id: label, name: label, commands: [...create, issue] };
}

type ModelMap = ReadonlyMap<string, string>;

const noLabel = 'Its name is missing, is used twice, begins with "-", or is not 1 to 100 characters on one line.';

/** Figures and marks of LiteLLM's own, which limit nothing. */
const bookkeeping = ['spend', 'created_at', 'updated_at', 'created_by', 'updated_by', 'budget_reset_at', 'user_id'];

function refuse(input: InputValue, reason: string): undefined {
  input.leave(reason);
}

function passBy(input: InputValue, names: readonly string[]): void {
  for (const name of names) if (input.at(name).isGiven) input.at(name).take();
}

function freeLabel(text: string, used: Set<string>): string | undefined {
  const isLabel = [...text].length <= 100 && /^[^-]/.test(text) && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text);
  if (!isLabel || used.has(text)) return undefined;
  used.add(text);
  return text;
}

/** Undefined: it has a limit that can't be taken, and without it would be unlimited. */
function limitsOf(input: InputValue): readonly string[] | undefined {
  const found = [
    { flag: '--rpm', limit: input.at('rpm_limit') },
    { flag: '--concurrent', limit: input.at('max_parallel_requests') },
  ];
  const perMinute = input.at('tpm_limit');
  if (perMinute.isGiven)
    perMinute.leave('The gateway limits tokens per day: add --tpd to the command if that is wanted.');
  const given = found.filter(({ limit }) => isLimit(limit));
  const wrong = given.find(
    ({ limit: { number = -1 } }) => !Number.isInteger(number) || number < 0 || number >= 2 ** 32,
  );
  if (wrong !== undefined)
    return refuse(wrong.limit, 'It is no whole number: without this limit it would be unlimited.');
  return given.map(({ flag, limit }) => {
    limit.take();
    return optionText(flag, String(limit.number));
  });
}

/** Null is LiteLLM's word for no limit. */
function isLimit({ isGiven, value }: InputValue): boolean {
  return isGiven && value !== null;
}

function isBlocked(input: InputValue): boolean {
  const { isGiven, value } = input.at('blocked');
  return isGiven && value !== null && value !== false;
}

/** `--budget 100/month`. Undefined for one that can't be taken; without it, use is unlimited. */
function budgetOf(input: InputValue): readonly string[] | undefined {
  const [budget, duration] = [input.at('max_budget'), input.at('budget_duration')];
  if (!isLimit(budget)) return [];
  const { number = -1 } = budget;
  const period = Object.hasOwn(periods, duration.text ?? '') ? periods[duration.text ?? ''] : undefined;
  if (period === undefined || number < 0 || number >= 1e9) {
    return refuse(budget, 'Budgets are amounts for a day, a week or a month: create a group with --budget.');
  }
  budget.take();
  duration.take();
  duration.note('Days, weeks and months are those of the calendar in Europe/Amsterdam.');
  return [optionText('--budget', `${Number(number.toFixed(6))}/${period}`)];
}

const periods: Readonly<Record<string, string>> = {
  ...{ '24h': 'day', '1d': 'day', daily: 'day' },
  ...{ '7d': 'week', '1w': 'week', weekly: 'week' },
  ...{ '30d': 'month', '31d': 'month', '1mo': 'month', monthly: 'month' },
};

/** Undefined: none of its models is taken, and without a list it could use all models. */
function modelsOf(input: InputValue, models: ModelMap): readonly string[] | undefined {
  const list = input.at('models');
  const given = list.items();
  if (given.length === 0 || given.some(({ text = '' }) => everyModel.has(text))) {
    passBy(input, ['models']);
    return [];
  }
  const known = given.flatMap((item) => {
    const name = models.get(item.text ?? '');
    if (name === undefined || name.includes(',')) {
      item.leave(`The model ${item.text ?? ''} is not taken.`);
      return [];
    }
    if (name === '*') {
      item.leave('It stands for all models of a provider: name them with --models.');
      return [];
    }
    item.take();
    return [name];
  });
  if (known.length === 0) return refuse(input, 'None of its models is taken.');
  return [optionText('--models', [...new Set(known)].join(','))];
}

const everyModel: ReadonlySet<string> = new Set(['all-proxy-models', 'all-team-models', '*']);

/** LiteLLM writes times in UTC, with or without a zone. */
function zoned(time: string): string {
  return /(Z|[+-]\d\d:?\d\d)$/.test(time) ? time : `${time}Z`;
}
