import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium as program } from '@gateway/testkit';
import { type Browser, chromium, type Page } from 'playwright-core';
import { benchCases, ratePerSecond } from './bench-cases.ts';
import { LoadGenerator } from './load/load-generator.ts';
import type { WatchedProcess } from './measure/processor-time.ts';
import { targetOf } from './measure/run-case.ts';
import { spreadOf } from './measure/spread.ts';
import { findCores, moveTo } from './processes/cores.ts';
import { OwnProcess } from './processes/own-process.ts';
import { startAllInOne } from './systems/all-in-one.ts';

/*
 * What an open page of the console costs while the gateway serves 500 requests a second. Measures
 * the processor time of the page's own process, and what the gateway spends more than in the turn
 * before, without a page.
 *
 *   npm run bench -- console [--rounds 5] [--seconds 10] [--pages overview,requests,pools]
 */
const { values } = parseArgs({
  args: process.argv.slice(3),
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '10' },
    pages: { type: 'string', default: 'overview,requests,pools' },
  },
});
const [rounds, measureMs] = [Number(values.rounds), Number(values.seconds) * 1_000];
/** By then a page has its figures and is drawn. */
const warmUpMs = 4_000;
/** A share of one core. */
const mostShare = 0.05;

/** Paths by the names of pages. */
const pages = { overview: '/', requests: '/requests', pools: '/pools' } as const;
const chosen = Object.entries(pages).filter(([name]) => values.pages.split(',').includes(name));

await using stack = new AsyncDisposableStack();
const cores = findCores();
moveTo(cores?.load);
const provider = stack.use(
  await OwnProcess.start(process.execPath, [join(import.meta.dirname, 'provider/main.ts')], { ipc: true }),
);
// Its only message.
const { port } = (await provider.message()) as { readonly port: number };
const generator = stack.use(await LoadGenerator.start());
moveTo(cores?.system);
const gateway = stack.use(await startAllInOne(port, { inspect: false, workers: '1' }));
moveTo(cores?.load);
const browser = await startBrowser();
stack.defer(() => browser.close());
const page = await signedIn(browser);

const load = benchCases.find(({ name }) => name === 'chat-to-messages-rate');
if (load === undefined) throw new Error('there is no case chat-to-messages-rate');
const target = targetOf(gateway, load);

// Time for the gateway to reach its full speed.
await generator.run({ target, shape: load.shape, watched: [], warmUpMs: 0, measureMs: 40_000 });

const shares = new Map(chosen.map(([name]) => [name, { page: [] as number[], gateway: [] as number[], stood: 0 }]));
for (let round = 0; round < rounds; round++) {
  for (const [name, path] of chosen) {
    await page.goto('about:blank');
    const { gateway: without } = await turn();
    await open(path);
    const spent = await turn();
    const changes = await page.evaluate<number>('globalThis.changes');
    const own = shares.get(name);
    own?.page.push(spent.page);
    own?.gateway.push(spent.gateway - without);
    if (own !== undefined && changes === 0) own.stood += 1;
    process.stderr.write(`bench: console, round ${round + 1} of ${rounds}, ${name}: ${percent(spent.page)}\n`);
  }
}
for (const [name, { page: own, gateway: added, stood }] of shares) {
  const [spent, more] = [spreadOf(own), spreadOf(added)];
  const verdict =
    stood > 0 ? `it stood still in ${stood} rounds` : (spent?.median ?? 1) <= mostShare ? 'met' : 'missed';
  process.stdout.write(
    `${name.padEnd(10)}  page ${percent(spent?.median)} of a core (${percent(spent?.least)} to ${percent(spent?.most)}), gateway ${percent(more?.median)} more: ${verdict}\n`,
  );
}

/** Shares of a core, of the page's process and of the gateway's, under load. */
async function turn() {
  const watched = [...gateway.processes, ...(await renderersOf(browser))];
  const shape = { kind: 'open', perSecond: ratePerSecond } as const;
  const report = await generator.run({ target, shape, watched, warmUpMs, measureMs });
  const answered = (report.answered / report.elapsedMs) * 1_000;
  if (answered < ratePerSecond * 0.95) {
    process.stderr.write(`bench: only ${answered.toFixed(0)} requests/s were answered: ${report.firstFailure}\n`);
  }
  const { 'all-in-one': own = 0, ...others } = report.processorMicros;
  const shareOf = (micros: readonly number[]) => micros.reduce((sum, each) => sum + each, 0) / 1_000 / report.elapsedMs;
  return { page: shareOf(Object.values(others)), gateway: shareOf([own]) };
}

/** The processes that draw pages: the page's own, and a spare one that does nothing. */
async function renderersOf(browser: Browser): Promise<readonly WatchedProcess[]> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  return processInfo
    .filter(({ type }) => type === 'renderer')
    .map(({ id }) => ({ name: `renderer ${id}`, pid: id, part: 'backend' }));
}

/** Opens a page. Once it has its figures, counts the changes of its content. */
async function open(path: string): Promise<void> {
  await page.goto(path);
  await page.locator('.connection[data-state=live]').waitFor();
  await page.locator('main .panel').first().waitFor();
  await page.evaluate(`
    globalThis.changes = 0;
    const observer = new MutationObserver(() => { globalThis.changes += 1; });
    observer.observe(document.querySelector('main'), { subtree: true, childList: true, characterData: true, attributes: true });
  `);
}

async function startBrowser(): Promise<Browser> {
  const { executablePath, env } = await program();
  const args = ['--no-sandbox', '--disable-background-networking'];
  return await chromium.launch({ executablePath, args, env: { ...process.env, ...env } });
}

async function signedIn(browser: Browser): Promise<Page> {
  const context = await browser.newContext({ baseURL: gateway.adminUrl, viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.goto('/');
  await page.getByLabel('Token').fill(gateway.adminToken);
  await page.keyboard.press('Enter');
  await page.locator('nav').waitFor({ state: 'attached' });
  return page;
}

function percent(share: number | undefined): string {
  return `${((share ?? Number.NaN) * 100).toFixed(1)} %`;
}
