interface Page {
  readonly nextPageToken: string;
}

/** All pages of a long answer, one after the other. */
export async function* pagesOf<P extends Page>(ask: (pageToken: string) => Promise<P>): AsyncGenerator<P> {
  let pageToken = '';
  do {
    const page = await ask(pageToken);
    yield page;
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
}

/** Records of the first pages, until there are so many. */
export async function* firstOf<P extends Page, T>(
  most: number,
  ask: (page: { readonly pageSize: number; readonly pageToken: string }) => Promise<P>,
  recordsOf: (page: P) => readonly T[],
): AsyncGenerator<readonly T[]> {
  let left = most;
  for await (const page of pagesOf((pageToken) => ask({ pageSize: Math.min(left, largestPage), pageToken }))) {
    yield recordsOf(page).slice(0, left);
    left -= recordsOf(page).length;
    if (left <= 0) return;
  }
}

const largestPage = 1_000;
