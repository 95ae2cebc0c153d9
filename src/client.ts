export * from './agent-tools/index.js';
export * from './client/index.js';
