export * from './client-settings.ts';
export * from './request-text.ts';
export * from './welcome.ts';
