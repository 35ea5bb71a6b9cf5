import type { ResponseHeaders } from '../outcomes/evidence.js';
import type { AttemptError } from '../outcomes/outcome.js';
import type { ShownRequest } from '../sending/message-headers.js';

/** The result of a test event. */
export interface TestResult {
  id: string;
  webhook_id: string;
  event_id: string;
  event_type: string;
  status: 'success' | 'failed';
  http_status: number | null;
  response_time_ms: number;
  error: AttemptError | null;
  attempted_at: string;
  /** Null if the test succeeded. */
  error_detail: string | null;
  remedy: string | null;
  /** The beginning of the response body, as text. */
  response: string | null;
  response_headers: ResponseHeaders;
  request: ShownRequest & { url: string };
}
