import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'

/**
 * A port of the loopback that no process listens on. Another process may take it before the caller does: then
 * the caller's server does not start, and another port is tried.
 */
export async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
