export * from './buffer-list.ts';
export * from './json-body.ts';
export * from './json-member.ts';
export { JsonScanner, type ScannerOptions } from './json-scanner.ts';
export * from './json-value.ts';
export type { ByteRange, TrackedStringOptions } from './tracked-string.ts';
