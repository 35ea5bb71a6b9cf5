import type { PosthornError, PreviewResult, PreviewWebhookRequest } from '@posthorn/client';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { posthorn } from '../../api/client';
import { problemIn } from '../../api/problem';
import { useToken } from '../../session/token';

export type PreviewRequest = Omit<PreviewWebhookRequest, 'organization_id'>;

export interface Preview {
  /** The latest result: while another one is awaited, an older one. */
  data: PreviewResult | undefined;
  isOld: boolean;
  error: Error | null;
  problem: PosthornError | undefined;
}

/** A pause in typing. */
const settleMs = 350;
/** A token has 60 requests of this kind per minute by default. */
const everyMs = 1_100;

/** Returns what a webhook would get, a moment after what it wants has changed. */
export function usePreview(request: PreviewRequest): Preview {
  const { organization_id } = useToken();
  const wanted = JSON.stringify({ organization_id, ...request });
  const body = useSettled(wanted);
  const { data, error, isFetching } = useQuery(previewQuery(body));
  const [shown, setShown] = useState(data);
  if (data && data !== shown) setShown(data);
  return {
    data: shown,
    isOld: body !== wanted || isFetching,
    error,
    problem: problemIn(error),
  };
}

const previewQuery = (body: string) =>
  queryOptions({
    queryKey: ['preview', body],
    queryFn: ({ signal }) => posthorn.webhooks.preview(JSON.parse(body), { signal }),
    staleTime: 30_000,
  });

/** Returns a text once it has not changed for a moment, and not too often. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  const settledAt = useRef(0);
  useEffect(() => {
    const waitMs = Math.max(settleMs, settledAt.current + everyMs - performance.now());
    const timer = setTimeout(() => {
      settledAt.current = performance.now();
      setSettled(text);
    }, waitMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
