import { createReceiver, memorySeen } from '@posthorn/receiver';
import { nextRoute } from '@posthorn/receiver/next';

const receiver = createReceiver({
  secret: process.env.WEBHOOK_SECRET,
  // Instances do not share their memory. Use a database if an event must not be handled twice.
  seen: memorySeen(),
  on: {
    'invoice.paid': async ({ data }) => {
      console.log(`${data.id} is paid: ${data.amount_minor} ${data.currency}`);
    },
    'incident.*': async (event) => {
      const severity = event.type === 'incident.opened' ? ` (${event.data.severity})` : '';
      console.log(`${event.type}: ${event.data.id}${severity}`);
    },
  },
});

export const { POST } = nextRoute(receiver);
