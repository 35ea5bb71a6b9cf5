import { sign, signingKey } from '@posthorn/receiver';
import { Pool } from 'undici';

const key = signingKey('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
export const inFlight = 64;

/** Sends events to a receiver as Posthorn does: with the same client, the same signatures and as many headers. */
export class Sender {
  #pool;
  #paths;

  /** `paths` has the receiver's path for each event type: the subscriptions, without a query. */
  constructor(receiverUrl, paths) {
    this.#pool = new Pool(receiverUrl, { connections: inFlight });
    this.#paths = paths;
  }

  /** Makes one attempt and returns the row that the delivery log gets. */
  async attempt(event, attempt) {
    const { payload, actor, subject, ...head } = event;
    const body = JSON.stringify({ ...head, data: payload });
    const attemptedAt = new Date();
    const headers = {
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'Peer/1.0',
      'x-service-subject': `${subject.type}/${subject.id}`,
      'x-service-actor': `${actor.type}/${actor.id}`,
      'x-service-delivery': `WDLV-${event.id.slice(4)}`,
      'x-service-attempt': String(attempt),
      ...sign(body, { id: event.id, timestamp: attemptedAt, key }),
    };
    const path = this.#paths[event.type];
    const { statusCode, body: response } = await this.#pool.request({ path, method: 'POST', headers, body });
    await response.dump();
    return {
      event_id: event.id,
      attempt,
      attempted_at: attemptedAt,
      http_status: statusCode,
      duration_ms: Date.now() - attemptedAt.getTime(),
      is_success: statusCode >= 200 && statusCode < 300,
    };
  }

  close() {
    return this.#pool.close();
  }
}
