import type { Posthorn } from '@posthorn/client';
import type { Figures } from './figures.js';

/** Shows every new event of the stream. */
export async function showEvents(posthorn: Posthorn, organization_id: string, figures: Figures) {
  const stop = new AbortController();
  const newestId = async () => {
    const { data } = await posthorn.events.list({ organization_id, limit: 1 }).first();
    return data[0]?.id;
  };
  let lastId = await newestId();
  const follow = async () => {
    const onDisconnect = () => figures.troubled('The tail was interrupted.');
    const options = { lastEventId: lastId, signal: stop.signal, onDisconnect };
    for await (const event of posthorn.events.tail({ organization_id }, options)) {
      lastId = event.id;
      figures.eventShown(event);
    }
  };
  const ended = follow().catch((error: Error) => {
    if (!stop.signal.aborted) figures.troubled(`The tail ended: ${error.message}`);
  });
  return {
    /** Returns whether every event that is now in the stream has been shown. */
    isUpToDate: async () => lastId === (await newestId()),
    close: () => {
      stop.abort();
      return ended;
    },
  };
}
