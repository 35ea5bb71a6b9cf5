import type { Command } from './command.js';

export const demo: Command = {
  name: 'demo',
  summary: 'Start the service with a company at work and receivers to send to, and watch. q ends it.',
  options: {
    rate: {
      value: 'n/s',
      description: 'How many events happen, a second (20/s) or a minute (600/m).',
      fallback: '20/s',
    },
    for: { value: '60s', description: 'End by itself after this time.' },
    json: { description: 'Print what it came to as one JSON object.' },
  },
  fallbacks: {
    egressAllow: '127.0.0.0/8,::1/128',
    retryScheduleMs: '2s,5s,10s,20s',
    rateLimitReads: '0',
    rateLimitWrites: '0',
    logLevel: 'warn',
  },
  run: async (context) => {
    // Loaded here, as no other command needs it.
    const { runDemoCommand } = await import('./demo-run.js');
    await runDemoCommand(context);
  },
};
