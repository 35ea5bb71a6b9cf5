import type { Delivery } from '@posthorn/client';
import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useAction } from '../../action';
import { posthorn } from '../../api/client';
import { problemIn } from '../../api/problem';
import { plural } from '../../format';
import { newActionKey } from '../../identifier';
import { Confirm } from '../../parts/confirm';
import { say } from '../../toast';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Redelivers the selected deliveries one after another, after showing how many there are. */
export function RedeliverSelection({ deliveries, onDone }: { deliveries: Delivery[]; onDone: () => void }) {
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const [done, setDone] = useState(0);
  // If one fails and the user tries again, those before it are not sent a second time.
  const keys = useRef(new Map<string, string>());
  const webhooks = new Set(deliveries.map(({ webhook_id }) => webhook_id)).size;
  const waiting = deliveries.filter(({ status, final }) => status === 'failed' && !final).length;

  const redeliver = useAction({
    mutationFn: async () => {
      for (const [index, { webhook_id, id }] of deliveries.entries()) {
        setDone(index);
        const key = keys.current.get(id) ?? newActionKey();
        keys.current.set(id, key);
        await patiently(() => posthorn.deliveries.redeliver(webhook_id, id, { idempotencyKey: key }));
      }
    },
    onSuccess: () => {
      setAsking(false);
      say(`${plural(deliveries.length, 'delivery is', 'deliveries are')} on the way.`);
      onDone();
      void client.invalidateQueries({ queryKey: ['deliveries'] });
    },
  });

  return (
    <section className="selection" aria-label="Selection">
      <b>{plural(deliveries.length, 'delivery', 'deliveries')} selected</b>
      <span className="grow" />
      <button type="button" className="btn" onClick={onDone}>
        Clear
      </button>
      <button type="button" className="btn primary" data-key="r" onClick={() => setAsking(true)}>
        Redeliver…
      </button>
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={`Redeliver ${plural(deliveries.length, 'delivery', 'deliveries')}?`}
        action={redeliver.isPending ? `${done + 1} of ${deliveries.length}…` : 'Redeliver'}
        isBusy={redeliver.isPending}
        error={redeliver.error}
        onConfirm={() => redeliver.mutate()}
      >
        <p>
          They go to {plural(webhooks, 'webhook')}.{' '}
          {waiting > 0 &&
            `${waiting} of them ${waiting === 1 ? 'is' : 'are'} waiting to retry: those are attempted now. `}
          {waiting === 0 && 'For each, a new delivery of the same event is created.'}
          {waiting > 0 &&
            waiting < deliveries.length &&
            'For each of the others, a new delivery of the same event is created.'}
        </p>
      </Confirm>
    </section>
  );
}

/** Waits until the rate limit allows the request, instead of failing. */
async function patiently<T>(request: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await request();
    } catch (error) {
      const problem = problemIn(error);
      if (problem?.status !== 429) throw error;
      await pause(problem.retryAfterMs ?? 1_000);
    }
  }
}
