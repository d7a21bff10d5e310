import { wrapText } from '@gateway/presentation';
import type { OthersReport, SuiteReport } from './suite.ts';

/** `docs/reference/conformance-others.md`: the results, for people. */
export function othersPage({ date, node, python, suites, leftOut }: OthersReport): string {
  return `${[
    head,
    `These are the results of ${date}, with Node.js ${node} and Python ${python}.`,
    table(suites),
    ...suites.map(section),
    '## Left out',
    leftOut.map(({ name, why }) => item(`${name}. ${why}`)).join('\n'),
  ].join('\n\n')}\n`;
}

const head = `---
order: 81
---

# Tests by others

<!-- Written by \`npm run conformance:others\` from conformance-others.json. -->

Others also publish suites that test gateways, providers and their clients. This page has their results for this
gateway, in one process, with the simulated provider. [Conformance](conformance.md) has those of our own rules. The
command installs pinned versions from npm, PyPI and GitHub into a cache, and takes some minutes when it has them:

\`\`\`sh no-run="installs the suites, and starts a real gateway"
npm run conformance:others
\`\`\`

A check that is not kept has an explanation, with the specification's sentence if it is by decision. The command fails
when a check fails without one, and when an explanation no longer applies. [conformance-others.json][json] names every
check that has one.

[json]: conformance-others.json`;

function table(suites: readonly SuiteReport[]): string {
  const rows = suites.map(({ name, from, packages, kept, skipped, failed }) => {
    const [version = ''] = Object.values(packages);
    return [
      name,
      from === 'GitHub' ? version.slice(0, 12) : version,
      from,
      kept,
      skipped.flatMap(({ checks }) => checks).length,
      failed.length,
    ];
  });
  return [['suite', 'version', 'from', 'kept', 'explained', 'failed'], Array(6).fill('---'), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

function section({ name, packages, how, skipped, failed }: SuiteReport): string {
  const versions = Object.entries(packages).map(([one, version]) => `\`${one}\` ${version}`);
  const command = `\`\`\`sh no-run="installs the suite, and starts a real gateway"\nnpm run conformance:others -- --suite '${name}'\n\`\`\``;
  return [
    `## ${name}`,
    wrapText(`${versions.join(', ')}. ${how}`),
    command,
    [
      ...skipped.map(({ why, checks }) => item(`${why} ${listOf(checks)}`)),
      ...failed.map(({ check, found }) => item(`**failed** \`${check}\`: ${asText(found)}`)),
    ].join('\n'),
  ].join('\n\n');
}

/** The first of many are enough for people: the file for programs has all of them. */
function listOf(checks: readonly string[]): string {
  const shown = checks.slice(0, 10).map((check) => `\`${check}\``);
  const more = checks.length - shown.length;
  return `Checks: ${shown.join(', ')}${more === 0 ? '.' : `, and ${more} more.`}`;
}

function item(text: string): string {
  return wrapText(`- ${text}`, 120, '  ');
}

function asText(found: string): string {
  return found
    .slice(0, 300)
    .replaceAll(/[\\`*_<>[\]]/g, '\\$&')
    .replaceAll(/\s+/g, ' ');
}
