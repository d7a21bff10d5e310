export * from './encrypted-reasoning.ts';
