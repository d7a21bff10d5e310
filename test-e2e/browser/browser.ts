import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { chromium as program } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';

/** Debian's Chromium. It makes no requests except those of the page. */
export async function startBrowser(): Promise<Browser> {
  return chromium.launch(await browserOptions());
}

export async function browserOptions() {
  const { executablePath, env } = await program();
  const args = ['--no-sandbox', '--disable-background-networking', '--font-render-hinting=none'];
  return { executablePath, args, env: { ...process.env, ...env } };
}

export interface View {
  readonly theme: 'light' | 'dark';
  readonly width: 360 | 390 | 1024 | 1440;
}

/** Every page must be correct in each of these. */
export const views: readonly View[] = [
  { theme: 'light', width: 1440 },
  { theme: 'dark', width: 1440 },
  { theme: 'light', width: 360 },
  { theme: 'dark', width: 360 },
];

export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /**
   * Problems of the page: script errors, and resources that its Content-Security-Policy blocked.
   */
  readonly complaints: readonly string[];
}

export async function visit(browser: Browser, baseUrl: string, { theme, width }: View): Promise<Visit> {
  const viewport = { width, height: width < 800 ? 780 : 900 };
  const context = await browser.newContext({
    baseURL: baseUrl,
    viewport,
    colorScheme: theme,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'Europe/Amsterdam',
  });
  const page = await context.newPage();
  page.setDefaultTimeout(roomMs(10_000));
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  return { page, context, complaints };
}

export async function goTo(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await page.locator('h1').waitFor();
  await expect.poll(() => page.getByText('Loading').count()).toBe(0);
}

const axeSource = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
  }[];
}

/** Violations of WCAG 2.2 AA that a program can find, one line each. */
export async function accessibilityProblems(page: Page): Promise<readonly string[]> {
  await page.evaluate(await axeSource);
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  // Only violations are reported in detail: computing a selector for each correct element takes
  // longer than the check.
  const options = { runOnly: tags, resultTypes: ['violations'] };
  const found = await page.evaluate<AxeResults>(`axe.run(document, ${JSON.stringify(options)})`);
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary.split('\n')[1]}`),
  );
}

/**
 * How many pixels the page is wider than the window: it must not need scrolling in two directions.
 */
export function overflow(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}
