/** The error for a request that the service refuses. */
export { PosthornError as Refused } from '@posthorn/client';
export { type DemoOptions, type DemoService, type RunningDemo, runDemo } from './demo.js';
export { parseRate, rateAccepts } from './pace.js';
export { type Summary, summaryLines } from './summary.js';
export { DashboardView, LineView, type View } from './view.js';
