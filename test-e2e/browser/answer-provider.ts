import type { Page } from 'playwright-core';

/**
 * Acts as a person on the provider's pages, however many it shows: enters a name and a password,
 * and consents.
 */
export async function answerProvider(page: Page, issuer: string, name: string): Promise<void> {
  await page.waitForLoadState();
  for (let pages = 0; page.url().startsWith(issuer) && pages < 3; pages++) {
    const login = page.locator('input[name=login]');
    if ((await login.count()) > 0) {
      await login.fill(name);
      await page.locator('input[name=password]').fill('any');
    }
    const before = page.url();
    await page.locator('button[type=submit]').click();
    await page.waitForURL((url) => url.href !== before);
    await page.waitForLoadState();
  }
}
