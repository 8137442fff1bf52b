/**
 * Bodies that a client keeps back until it gets a 100 (`Expect: 100-continue`): curl does for more than a megabyte.
 *
 *   head ── refused ─▶ the answer, with `Connection: close`: the body is never sent
 *     └── let in ─▶ 100 ── the body ─▶ the answer
 *
 * Node would send the 100 before a route has seen the request, and clients would send a large body to be refused.
 */
import type { RequestListener, Server, ServerResponse } from 'node:http'

const keptBack = new WeakSet<ServerResponse>()

/** Has the server leave the 100 to {@link askForBody}. */
export function keepBodiesBack(server: Server, listener: RequestListener): void {
  const begin: RequestListener = (request, response) => {
    keptBack.add(response)
    listener(request, response)
  }
  server.on('checkContinue', begin)
}

/** To be called when the head was found good. @param most Bytes: the parser refuses a body that is announced as longer. */
export function askForBody(response: ServerResponse, most: number): void {
  if (!keptBack.delete(response)) return
  if (Number(response.req.headers['content-length'] ?? 0) <= most) response.writeContinue()
}
