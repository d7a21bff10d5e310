import type { Page } from 'playwright-core';
import { goTo } from './browser.ts';

/** Signs in on the sign-in page, as a person would. */
export async function signInAs(page: Page, token: string): Promise<void> {
  await goTo(page, '/');
  await page.getByLabel('Token').fill(token);
  await page.keyboard.press('Enter');
  // Narrow pages have it in the menu.
  await page.locator('nav').waitFor({ state: 'attached' });
}
