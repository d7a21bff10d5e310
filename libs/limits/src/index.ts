export * from './decide.ts';
export * from './fallback-limits.ts';
export * from './fallback-options.ts';
export * from './limit-store.ts';
export * from './memory-limit-store.ts';
export * from './minute-window.ts';
export * from './replica-share.ts';
