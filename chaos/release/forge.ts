/** A stand-in for the releases of GitHub: it keeps each announcement, and counts how often it came. */
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

export interface ForgeStandIn extends AsyncDisposable {
  readonly url: string
  /** How often a release was made for each Git tag. */
  readonly made: ReadonlyMap<string, number>
}

export async function startForge(): Promise<ForgeStandIn> {
  const made = new Map<string, number>()
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      const tag = decodeURIComponent(request.url!.slice(request.url!.lastIndexOf('/') + 1))
      response.writeHead(made.has(tag) ? 200 : 404).end('{}')
      return
    }
    void json(request).then(
      (body) => {
        const { tag_name: tag } = body as { tag_name: string }
        made.set(tag, (made.get(tag) ?? 0) + 1)
        response.writeHead(201).end('{}')
      },
      // The sender was killed in the middle of its request.
      () => response.destroy(),
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    made,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
