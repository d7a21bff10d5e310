import { wrapText } from '@gateway/presentation';
import type { PeersReport, SystemReport } from './report.ts';

/** `docs/reference/conformance.md`: the results, for people. */
export function conformancePage(report: PeersReport): string {
  const { date, node, command, systems, leftOut } = report;
  return `${[
    head,
    `This command made the table on ${date}, with Node.js ${node}:`,
    codeBlock(command, 'installs the peers, and starts real servers'),
    fairness,
    '## The table',
    'Rules kept, of those that a system is held to. A dash: the endpoint is not claimed, or no rule could be tried.',
    table(systems),
    skippedBesides,
    '## Each system',
    ...systems.map(section),
    '## Left out',
    leftOut.map(({ name, version, why }) => item(`\`${name}\` ${version}. ${why}`)).join('\n'),
  ].join('\n\n')}\n`;
}

const head = `---
order: 80
---

# Conformance

<!-- Written by \`npm run conformance:peers\` from conformance.json. -->

[\`gateway-conformance\`](../../test-e2e/conformance/README.md) checks whether a gateway keeps the rules of the formats
that it supports. It works with this gateway and with any other. This page has its results for gateways from npm.
[conformance.json](conformance.json) has the same results for programs. [Tests by others](conformance-others.md) has the
results of suites from other projects.

There are three levels of rules:

- *Formats*: what SDKs need from any gateway.
- *Operations*: limits, failover and disconnects.
- *Specification*: what only this gateway promises. Other gateways are not held to it.

\`npx gateway-conformance --list\` shows every rule.`;

const fairness = `## How the comparison is kept fair

- A system is only held to endpoints that its own documentation claims.
- It is set up as its documentation recommends for a provider with a custom base URL.
- A check that needs something that a system lacks (a limit, a second account) is skipped, and does not count as broken.
- If a system's documentation replaces a rule with another one, the rule is skipped too.
- Every system has the same provider: the scripted one of \`gateway-conformance --provider-port\`. It answers valid
  requests and rejects invalid ones as the real providers do, so that a gateway may leave that to it.
- All systems ran on the same machine, one after the other, with the same Node.js.
- Each rule has a source: the documentation of a provider, an SDK that relies on it, or a standard.
- [test-e2e/peers](../../test-e2e/peers/README.md) has the complete setup of each system.
- The authors of the checks also wrote one of the systems. Every broken rule is listed below with the result, and with
  the command to reproduce it.`;

const skippedBesides = 'Skipped rules do not count. The section of each system has the reasons.';

const groups = ['chat', 'messages', 'count-tokens', 'responses', 'models', 'usage', 'http'] as const;
const levels = ['formats', 'operations', 'specification'] as const;

function table(systems: readonly SystemReport[]): string {
  const columns = ['endpoint', 'level', ...systems.map(({ name, version }) => `${name} ${version}`)];
  const rows = groups.flatMap((endpoint) =>
    levels.flatMap((level) => {
      const cells = systems.map((system) => cellOf(system, endpoint, level));
      return cells.every((cell) => cell === nothing) ? [] : [[endpoint, level, ...cells]];
    }),
  );
  const totals = systems.map(({ rows: ofSystem }) => `**${keptOf(ofSystem)}**`);
  return [columns, columns.map(() => '---'), ...rows, ['**all**', '', ...totals]]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

const nothing = '–';

function cellOf({ rows }: SystemReport, endpoint: string, level: string): string {
  return keptOf(rows.filter((row) => row.endpoint === endpoint && row.level === level));
}

function keptOf(rows: SystemReport['rows']): string {
  const kept = rows.reduce((sum, row) => sum + row.kept, 0);
  const held = rows.reduce((sum, row) => sum + row.kept + row.broken, 0);
  return held === 0 ? nothing : `${kept} of ${held}`;
}

function section(system: SystemReport): string {
  const { name, version, package: packageName, setUp, broken, skipped, startCommand, conformanceCommands } = system;
  const isOurs = packageName === null;
  return [
    `### ${name}`,
    isOurs
      ? `This gateway, version ${version}.`
      : wrapText(`\`${packageName}\` ${version}. It claims ${claimsOf(system)}.`),
    setUp.map(item).join('\n'),
    'To reproduce the results:',
    codeBlock(
      [startCommand, ...conformanceCommands].join('\n'),
      'needs the system set up as above, and runs until it is stopped',
    ),
    broken.length === 0 ? 'It breaks no rule.' : 'Rules that it breaks:',
    ...(broken.length === 0 ? [] : [broken.map(brokenLines).join('\n')]),
    ...(skipped.length === 0 ? [] : ['Skipped:', skipped.map(skippedLine).join('\n')]),
  ].join('\n\n');
}

function claimsOf({ claims }: SystemReport): string {
  return claims.map(({ endpoint, documentation }) => `[${endpoint}](${documentation})`).join(', ');
}

function brokenLines({ check, rule, source, found }: SystemReport['broken'][number]): string {
  return item(`\`${check}\`: ${plain(rule)} ([source](${source})) Found: ${plain(found)}`);
}

function skippedLine({ why, checks }: SystemReport['skipped'][number]): string {
  return item(`because ${plain(why)}: ${checks.map((check) => `\`${check}\``).join(', ')}`);
}

function item(text: string): string {
  return wrapText(`- ${text}`, 120, '  ');
}

/** Escapes text for Markdown. Code of a rule stays code. */
function plain(text: string): string {
  return text
    .split('`')
    .map((part, index) => (index % 2 === 0 ? part.replaceAll(/[\\*_{}[\]<>|~]/g, '\\$&') : part))
    .join('`');
}

function codeBlock(text: string, noRun: string): string {
  return ['```sh no-run="', noRun, '"\n', text, '\n```'].join('');
}
