/**
 * How a receiver can respond. `succeed` notes that the service must take the response as a success; `hold` keeps the
 * request until it is released.
 */
export const behaviors = {
  ok: ({ response, succeed }) => {
    succeed();
    response.end();
  },
  /** Responds with success and a body that never ends. */
  'endless body': ({ response, succeed }) => {
    succeed();
    response.writeHead(200);
    repeat(response, 200, () => response.write('z'));
  },
  /** Responds with success and a body that is longer than anyone reads. */
  flood: ({ response, succeed }) => {
    succeed();
    response.writeHead(200, { 'content-length': 20_000_000 });
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const more = () => {
      while (!response.destroyed && response.write(chunk));
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  },
  /** Responds with success and closes the connection in the middle of the body. */
  'broken body': ({ response, succeed }) => {
    succeed();
    response.socket?.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this', () =>
      response.socket?.resetAndDestroy(),
    );
  },
  /** Responds late, but within the time limit. */
  slow: ({ response, succeed }) => {
    setTimeout(() => {
      succeed();
      response.end();
    }, 700);
  },
  hang: () => undefined,
  /** Never completes its status line. */
  'endless head': ({ response }) => {
    response.socket?.write('HTTP/1.1 200 OK\r\nX-Slow: ');
    repeat(response, 200, () => response.socket?.write('z'));
  },
  reset: ({ response }) => response.socket?.resetAndDestroy(),
  'hang up': ({ response }) => response.socket?.destroy(),
  'other protocol': ({ response }) => response.socket?.end('220 mail.example ESMTP\r\n'),
  'huge head': ({ response }) =>
    response.socket?.end(`HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(1_000_000)}\r\n\r\n`),
  redirect: ({ response }) => {
    response.writeHead(307, { location: 'http://127.0.0.1:9/elsewhere' });
    response.end();
  },
  'server error': ({ response }) => {
    response.statusCode = 500;
    response.end('{"secret": "stack trace"}');
  },
  busy: ({ response }) => {
    response.writeHead(503, { 'retry-after': '1' });
    response.end();
  },
  'too many': ({ response }) => {
    response.writeHead(429, { 'retry-after': '2' });
    response.end();
  },
  /** Keeps the request until it is released, and then responds with success. */
  hold: ({ response, succeed, hold }) =>
    hold(() => {
      succeed();
      response.end();
    }),
};

/** The behaviors that the service must not take as a success. */
export const refusing = [
  ...['hang', 'endless head', 'reset', 'hang up', 'other protocol', 'huge head'],
  ...['redirect', 'server error', 'busy', 'too many'],
];
/** The behaviors that are a nuisance, but that the service must take as a success. */
export const accepting = ['endless body', 'flood', 'broken body', 'slow'];

function repeat(response, everyMs, work) {
  const timer = setInterval(work, everyMs);
  response.once('close', () => clearInterval(timer));
}
