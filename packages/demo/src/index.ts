/** The error for a request that the service refuses. */
export { PosthornError as Refused } from '@posthorn/client';
export { type DemoOptions, type DemoService, runDemo } from './demo.js';
export { parseRate, rateAccepts } from './pace.js';
export { type Summary, summaryLines } from './summary.js';
export { printLines, type RunningDemo, showDashboard } from './view.js';
