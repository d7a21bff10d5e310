import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { goTo, startBrowser, type Visit, visit } from './browser.ts';
import { type MadeUpConsole, startMadeUpConsole } from './made-up-console.ts';
import { signInAs } from './sign-in-as.ts';

let site: MadeUpConsole;
let browser: Browser;
beforeAll(async () => {
  [site, browser] = await Promise.all([startMadeUpConsole(), startBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await site?.[Symbol.asyncDispose]();
});

let visited: Visit;
let page: Page;
beforeEach(async () => {
  visited = await visit(browser, site.url, { theme: 'light', width: 1440 });
  page = visited.page;
});
afterEach(async () => {
  expect(visited.complaints).toEqual([]);
  await visited.context.close();
});

const focused = () => page.locator(':focus');
const dialog = () => page.getByRole('dialog');

describe('an operator who signs in', () => {
  it('sees at the field that the token is unknown', async () => {
    await goTo(page, '/audit');
    await page.getByLabel('Token').fill('gw_a_wrong');
    await page.keyboard.press('Enter');
    await page.getByText('This token is unknown').waitFor();
    await expect.poll(() => page.getByLabel('Token').getAttribute('aria-invalid')).toBe('true');
  });

  it('comes to the page that was asked for, and leaves it signed out', async () => {
    await goTo(page, '/audit');
    await page.getByLabel('Token').fill('gw_a_admin');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  });

  it('can go to the provider of OpenID Connect, and comes back to the same page', async () => {
    await goTo(page, '/audit?search=maud');
    const link = page.getByRole('link', { name: 'Continue with Entra ID' });
    await expect.poll(() => link.getAttribute('href')).toBe('/oidc/sign-in?return_to=%2Faudit%3Fsearch%3Dmaud');
  });

  it('as a viewer sees neither operators nor the audit log', async () => {
    await signInAs(page, 'gw_a_viewer');
    const links = await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents();
    expect(links).toContain('System');
    expect(links).not.toContain('Operators');
    expect(links).not.toContain('Audit');
    await goTo(page, '/operators');
    await page.getByRole('heading', { name: 'Access denied' }).waitFor();
  });

  it('with the token of a caller sees its own usage and the playground alone', async () => {
    await signInAs(page, 'gw_s_ci');
    await page.getByRole('heading', { level: 1, name: 'My usage' }).waitFor();
    await expect
      .poll(() => page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents())
      .toEqual(['My usage', 'Playground']);
  });
});

describe('the frame', () => {
  beforeEach(() => signInAs(page, 'gw_a_admin'));

  it('puts the focus on the heading of the new page, by keyboard alone', async () => {
    await page.getByRole('link', { name: 'System' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'System' }).waitFor();
    await expect.poll(() => focused().textContent()).toBe('System');
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  });

  it('lets the first key of the keyboard skip the navigation', async () => {
    await goTo(page, '/system');
    await page.keyboard.press('Tab');
    await expect.poll(() => focused().textContent()).toBe('Skip to content');
    await page.keyboard.press('Enter');
    await expect.poll(() => focused().getAttribute('id')).toBe('main');
  });

  it('keeps the theme that was chosen', async () => {
    const background = () => page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
    const light = await background();
    await page.getByRole('radio', { name: 'Dark' }).check();
    const dark = await background();
    expect(dark).not.toBe(light);
    await page.reload();
    await page.locator('h1').waitFor();
    expect(await background()).toBe(dark);
  });

  it('finds an object by its id, from anywhere', async () => {
    await goTo(page, '/system');
    await page.keyboard.press('/');
    await page.keyboard.type('responses/team-b');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/pools\/responses/);
  });

  it('says when the connection is lost, and when it is there again', async () => {
    await page.getByText('Live', { exact: true }).waitFor();
    await page.evaluate("sessionStorage.setItem('made-up-outage', '1')");
    await page.getByText('Connection lost. The data shown is out of date.').waitFor();
    await expect.poll(() => page.getByRole('region', { name: 'Requests', exact: true }).isVisible()).toBe(true);
    await page.evaluate("sessionStorage.removeItem('made-up-outage')");
    await page.getByRole('button', { name: 'Retry now' }).click();
    await page.getByText('Live', { exact: true }).waitFor();
  });

  it('asks to sign in again when the session has ended, and returns to the same page', async () => {
    await goTo(page, '/system');
    await page.evaluate("sessionStorage.removeItem('made-up-session')");
    await page.getByText('Your session has expired.').waitFor();
    await page.getByLabel('Token').fill('gw_a_admin');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'System' }).waitFor();
  });
});

describe('operators', () => {
  beforeEach(async () => {
    await signInAs(page, 'gw_a_admin');
    await page.getByRole('link', { name: 'Operators' }).click();
    await page.getByRole('rowheader', { name: 'jeroen' }).waitFor();
  });

  it('are made with a token that is shown once and not closed by accident', async () => {
    const button = page.getByRole('button', { name: 'New operator' });
    await button.click();
    await dialog().getByLabel('Name').fill('jeroen');
    await dialog().getByRole('button', { name: 'Create operator' }).click();
    await dialog().getByText('There is an operator jeroen already.').waitFor();
    await dialog().getByLabel('Name').fill('anouk');
    await dialog().getByRole('button', { name: 'Create operator' }).click();
    const token = await dialog()
      .getByText(/^gw_a_/)
      .textContent();
    await page.keyboard.press('Escape');
    await expect.poll(() => dialog().isVisible()).toBe(true);
    await dialog().getByLabel('I have saved the token').check();
    await dialog().getByRole('button', { name: 'Done' }).click();
    await page.getByRole('rowheader', { name: 'anouk' }).waitFor();
    expect(await page.content()).not.toContain(token);
    await expect.poll(() => focused().textContent()).toBe('New operator');
  });

  it('that another person changed meanwhile are shown in their current state, before they are changed', async () => {
    await page.getByRole('button', { name: 'Change role: jeroen' }).click();
    await dialog().getByLabel('Role').selectOption({ label: 'Admin: can also manage operators and see the audit log' });
    await dialog().getByRole('button', { name: 'Change role' }).click();
    await dialog().getByText('was changed meanwhile').waitFor();
    await dialog().getByText('jeroen now has the role Viewer').waitFor();
    await dialog().getByRole('button', { name: 'Change role' }).click();
    await page.getByText('jeroen now has the role Admin.').waitFor();
  });

  it('are not disabled by a cancelled dialog', async () => {
    const disable = page.getByRole('button', { name: 'Disable: grafana' });
    await disable.click();
    await dialog().getByText('All sessions end immediately').waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => dialog().count()).toBe(0);
    await expect.poll(() => focused().getAttribute('aria-label')).toBe('Disable: grafana');
  });
});

describe('the other pages', () => {
  beforeEach(() => signInAs(page, 'gw_a_admin'));

  it('distinguish an invalid file from a valid one', async () => {
    await goTo(page, '/configuration');
    const text = page.getByLabel('Contents of a gateway.yaml');
    await text.fill('accounts: [{ pool: respones, name: team_z }]');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('Did you mean "responses"?').waitFor();
    await page.getByRole('button', { name: 'Load the running file' }).click();
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('+ accounts: responses/team-e (bearer)').waitFor();
  });

  it('show the fields of a change, page after page, and keep the filters in the address', async () => {
    await goTo(page, '/audit?search=token.update');
    const rows = page.getByRole('table', { name: 'Audit log' }).getByRole('row');
    await expect.poll(() => rows.nth(1).textContent()).toMatch(/requests per minute 60 → 120/);
    await page.getByRole('button', { name: 'Show all' }).click();
    await page.waitForURL(/\/audit$/);
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(() => rows.count()).toBe(101);
  });
});
