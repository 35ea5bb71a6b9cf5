export { EmbeddedUnavailable } from './account.js';
export { hasDatabase } from './cluster.js';
export { type EmbeddedDatabase, openEmbedded } from './embedded.js';
