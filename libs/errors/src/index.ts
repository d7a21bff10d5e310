export * from './error-detail.ts';
export * from './gateway-error.ts';
