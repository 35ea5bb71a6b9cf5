// See is-valid.mjs.

export async function POST(request) {
  const body = Buffer.from(await request.arrayBuffer());
  if (!isValid(body, Object.fromEntries(request.headers)))
    return new Response('invalid signature', { status: 401 });
  const event = JSON.parse(body);
  // Store the event before you respond; do slow work later.
  console.log(event.type, event.id);
  return new Response(null, { status: 200 });
}
