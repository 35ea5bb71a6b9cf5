import type { Delivery, WaitingDelivery } from '@posthorn/client';
import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useAction, useRequestKey } from '../api/action';
import { posthorn } from '../api/client';
import { Button } from '../parts/button';
import { Confirm } from '../parts/confirm';
import { showToast } from '../parts/toast';
import { session } from '../session/session';
import { plural, t } from '../text/language';
import { isHeld } from './next-attempt';
import {
  effectSentenceOf,
  heldSentenceOf,
  type Redelivery,
  redeliverAll,
  resultOf,
  sentenceOf,
} from './redelivery';

/**
 * Redelivers the selected deliveries one after another, after showing how many there are. Skips those that wait until
 * their webhook is active, because the service would refuse them.
 */
export function RedeliverSelection({
  deliveries: selected,
  hidden,
  onDeselect,
  onSelectAll,
}: {
  deliveries: readonly Delivery[];
  /** How many of them are not in the list: other filters apply now, or it was not loaded that far. */
  hidden: number;
  onDeselect: (deliveries: readonly Delivery[]) => void;
  /** Selects what matches the filters and is not shown yet. Undefined if nothing else does. */
  onSelectAll: (() => Promise<void>) | undefined;
}) {
  const client = useQueryClient();
  const [isConfirming, setConfirming] = useState(false);
  const [run, setRun] = useState<Redelivery>({ all: [], sent: [], queued: [] });
  const stop = useRef(new AbortController());
  const keyOf = useRequestKey();
  const timesSent = useRef(new Map<string, number>());
  /** The deliveries as they were when the dialog was opened. */
  const seen = useRef(selected);

  const redeliver = useAction<Redelivery, readonly Delivery[]>({
    mutationFn: async (all) => {
      const stopping = new AbortController();
      stop.current = stopping;
      setRun({ all, sent: [], queued: [] });
      const done = await redeliverAll(all, send, setRun, stopping.signal);
      setRun(done);
      for (const { id } of done.sent) timesSent.current.set(id, (timesSent.current.get(id) ?? 0) + 1);
      onDeselect(done.sent);
      void client.invalidateQueries({ queryKey: ['deliveries'] });
      // Otherwise, the user must see what was not sent.
      if (done.sent.length === all.length) void sayResult(done.queued, client);
      // Once the dialog is closed, it cannot show the error.
      if (done.error && !stopping.signal.aborted) throw done.error;
      return done;
    },
    onSuccess: (done) => {
      setConfirming(false);
      showToast(done.sent.length < done.all.length ? t`Stopped. ${sentenceOf(done)}` : sentenceOf(done));
    },
  });
  // If the user leaves, nothing is left that could stop it.
  useEffect(() => () => stop.current.abort(), []);

  function send(delivery: Delivery): Promise<WaitingDelivery> {
    const { webhook_id, id } = delivery;
    // If it is unknown whether a request arrived and the user tries again, the delivery is not sent twice, unless its
    // row showed the effect of the first request before the dialog was opened again.
    const { attempts, final } = seen.current.find((one) => one.id === id) ?? delivery;
    const key = keyOf({ id, attempts, final, sent: timesSent.current.get(id) });
    return posthorn.deliveries.redeliver(webhook_id, id, { idempotencyKey: key });
  }

  function open(): void {
    redeliver.reset();
    seen.current = selected;
    setConfirming(true);
  }

  function close(): void {
    stop.current.abort();
    setConfirming(false);
  }

  const sendable = selected.filter((delivery) => !isHeld(delivery));
  const held = selected.length - sendable.length;
  const isNothing = sendable.length === 0 && !redeliver.isPending;
  const deliveries = redeliver.isPending ? run.all : sendable;
  const webhooks = new Set(deliveries.map(({ webhook_id }) => webhook_id)).size;
  const waiting = deliveries.filter(({ status, final }) => status === 'failed' && !final).length;
  return (
    <section className="selection" aria-label={t`Selection`}>
      <b>
        {plural(selected.length, '{0} delivery selected', '{0} deliveries selected')}
        {hidden > 0 && `, ${t`${hidden} not shown`}`}
      </b>
      <span className="grow" />
      {onSelectAll && <Button onClick={() => void onSelectAll()}>{t`Select all that match`}</Button>}
      <Button onClick={() => onDeselect(selected)}>{t`Clear`}</Button>
      <Button kind="primary" data-key="r" onClick={open}>{t`Redeliver…`}</Button>
      <Confirm
        isOpen={isConfirming}
        onClose={close}
        title={
          isNothing
            ? t`Nothing to redeliver`
            : plural(deliveries.length, 'Redeliver {0} delivery?', 'Redeliver {0} deliveries?')
        }
        action={
          isNothing
            ? undefined
            : redeliver.isPending
              ? t`${Math.min(run.sent.length + 1, run.all.length)} of ${deliveries.length}…`
              : t`Redeliver`
        }
        cancel={isNothing ? t`Close` : t`Cancel`}
        isBusy={redeliver.isPending}
        error={redeliver.error}
        onConfirm={() => redeliver.mutate(sendable)}
      >
        {redeliver.error && <p>{sentenceOf(run)}</p>}
        {!isNothing && (
          <p>
            {deliveries.length > 1 && plural(webhooks, 'They go to {0} webhook.', 'They go to {0} webhooks.')}{' '}
            {effectSentenceOf(deliveries.length, waiting)}
          </p>
        )}
        {hidden > 0 && !redeliver.isPending && (
          <p>
            {plural(
              hidden,
              '{0} selected delivery is not shown in the list.',
              '{0} selected deliveries are not shown in the list.',
            )}
          </p>
        )}
        {held > 0 && !redeliver.isPending && <p>{heldSentenceOf(held)}</p>}
      </Confirm>
    </section>
  );
}

/** Each delivery takes a request, and a token has 600 of them per minute by default. */
const followedMax = 100;
const atOnce = 4;

/** How long to wait before the deliveries are read again. The message that they were sent must be readable, too. */
const waitsMs = [1_500, 1_500, 3_000, 6_000, 12_000, 20_000];

/**
 * Reads deliveries that were sent again until their attempts have ended, then says how they ended. What the page shows
 * of them is read again, too. The user may have left the list by then. Says nothing about attempts that take longer, or
 * if the deliveries cannot be read.
 */
async function sayResult(queued: readonly WaitingDelivery[], client: QueryClient): Promise<void> {
  if (queued.length === 0 || queued.length > followedMax) return;
  const who = session.get();
  const ended = new Map<string, Delivery>();
  for (const waitMs of waitsMs) {
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    if (session.get() !== who) return;
    const open = queued.filter(({ id }) => !ended.has(id));
    try {
      for (let at = 0; at < open.length; at += atOnce) {
        const read = await Promise.all(open.slice(at, at + atOnce).map((one) => ifAttempted(one)));
        for (const delivery of read) if (delivery) ended.set(delivery.id, delivery);
      }
    } catch {
      return;
    }
    if (ended.size === queued.length) break;
  }
  if (ended.size < queued.length) return;
  const delivered = [...ended.values()].filter(({ status }) => status === 'success').length;
  showToast(resultOf(delivered, ended.size - delivered));
  void client.invalidateQueries({ queryKey: ['deliveries'] });
}

/** Returns a delivery once it has had another attempt than those it had when it was sent again. */
async function ifAttempted({ webhook_id, id, attempts }: WaitingDelivery): Promise<Delivery | undefined> {
  const delivery = await posthorn.deliveries.get(webhook_id, id);
  return delivery.final || delivery.attempts > attempts ? delivery : undefined;
}
