/** The command line is invalid. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The command succeeded, and found something that needs attention. */
export class NotAsItShouldBe extends Error {
  override readonly name = 'NotAsItShouldBe';
}
