export * from './account-error-text.ts';
export * from './client-settings.ts';
export * from './model-pattern.ts';
export * from './pool-pause-text.ts';
export * from './request-text.ts';
export * from './visible-text.ts';
export * from './welcome.ts';
export * from './wrapped-text.ts';
