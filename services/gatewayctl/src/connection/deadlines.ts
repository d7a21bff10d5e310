/** Every call ends by then, unless it is `endless`: streams that follow changes have no end. */
export const callTimeoutMs = 60_000;
export const endless = { timeoutMs: 0 };
