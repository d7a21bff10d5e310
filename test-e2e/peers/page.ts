import type { PeersReport, SystemReport } from './report.ts';

/** `docs/reference/conformance.md`: what was found, for people. */
export function conformancePage(report: PeersReport): string {
  const { date, node, command, systems, leftOut } = report;
  return `${[
    head,
    `The table was made on ${date} by this command, with Node ${node}:`,
    codeBlock(command, 'installs the peers, and starts real servers'),
    fairness,
    '## The table',
    'Rules kept, of those that a system is held to. A dash: it does not claim the endpoint, or nothing could be tried.',
    table(systems),
    skippedBesides,
    '## Each system',
    ...systems.map(section),
    '## Left out',
    leftOut.map(({ name, version, why }) => `- \`${name}\` ${version}. ${why}`).join('\n'),
  ].join('\n\n')}\n`;
}

const head = `---
order: 80
---

# Conformance

<!-- Written by \`npm run conformance:peers\` from conformance.json. -->

Does a gateway keep the rules of the formats that it claims to speak? [\`gateway-conformance\`](../../test-e2e/conformance/README.md) finds out, for
this gateway and for any other. Here is what it found in gateways that npm brings. The same for programs: [conformance.json](conformance.json).

There are three levels of rules. *Formats*: what SDKs need, from any gateway. *Operations*: limits, failover and disconnects. *Specification*: what
only this gateway promises; others are not held to it. \`npx gateway-conformance --list\` shows every rule.`;

const fairness = `## What is fair

- A system is only held to endpoints that its own documentation claims.
- It is set up as its documentation recommends for a provider with a base URL of one's own.
- A check that needs what a system does not have (a limit, a second account) is skipped. It does not count as broken.
- A rule that a system's documentation replaces by another is skipped, too.
- Every system has the same provider behind it: the scripted one of \`gateway-conformance --provider-port\`. It answers good requests
  well, and refuses bad ones as the real providers do, so that a gateway may leave that to them.
- All ran on the same machine, one after the other, with the same Node.
- Each rule has a source: the documentation of a provider, an SDK that relies on it, or a standard.
- How each system is set up and started is written down in [test-e2e/peers](../../test-e2e/peers/README.md), to the letter.
- The authors of the checks also wrote one of the systems. Every broken rule is listed below with what was found, and the command to see it again.`;

const skippedBesides = 'Skipped rules do not count. Why they were skipped stands with each system.';

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
    isOurs ? `This gateway, version ${version}.` : `\`${packageName}\` ${version}. It claims ${claimsOf(system)}.`,
    setUp.map((line) => `- ${line}`).join('\n'),
    'See for yourself:',
    codeBlock(
      [startCommand, ...conformanceCommands].join('\n'),
      'needs the system set up as above, and runs until it is ended',
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
  return `- \`${check}\`: ${plain(rule)} ([source](${source})) Found: ${plain(found)}`;
}

function skippedLine({ why, checks }: SystemReport['skipped'][number]): string {
  return `- since ${plain(why)}: ${checks.map((check) => `\`${check}\``).join(', ')}`;
}

/** What stands in Markdown as it is. Code of a rule stays code. */
function plain(text: string): string {
  return text
    .split('`')
    .map((part, index) => (index % 2 === 0 ? part.replaceAll(/[\\*_{}[\]<>|~]/g, '\\$&') : part))
    .join('`');
}

function codeBlock(text: string, noRun: string): string {
  return ['```sh no-run="', noRun, '"\n', text, '\n```'].join('');
}
