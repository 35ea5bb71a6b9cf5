import type { OperatorCommand } from './operator.js';

export const demo: OperatorCommand = {
  name: 'demo',
  summary: 'Run the service with a simulated company, five receivers and a live dashboard. Press q to stop.',
  options: {
    rate: {
      value: 'n/s',
      description: 'Events per second (20/s) or per minute (600/m).',
      fallback: '20/s',
    },
    for: { value: '60s', description: 'Stop after this length of time.' },
    json: { description: 'Print the summary as one JSON object.' },
  },
  fallbacks: {
    egressAllow: '127.0.0.0/8,::1/128',
    retryScheduleMs: '2s,5s,10s,20s',
    rateLimitReads: '0',
    rateLimitWrites: '0',
    logLevel: 'warn',
  },
  run: async (context) => {
    // Imported here because no other command needs it.
    const { runDemoCommand } = await import('./demo-run.js');
    await runDemoCommand(context);
  },
};
