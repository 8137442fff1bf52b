import http from 'node:http'
import type { AddressInfo } from 'node:net'

export interface StubServer extends AsyncDisposable {
  readonly url: string
  readonly calls: { method: string; path: string; headers: http.IncomingHttpHeaders }[]
  readonly mostSockets: () => number
  readonly active: () => number
}

/** A server that answers as the test says, on a free port. */
export async function startStub(
  answer: (
    request: http.IncomingMessage,
    response: http.ServerResponse,
    call: number,
  ) => void | Promise<void>,
): Promise<StubServer> {
  const calls: StubServer['calls'] = []
  let sockets = 0
  let most = 0
  let active = 0
  const server = http.createServer((request, response) => {
    const { method = '', url: path = '', headers } = request
    calls.push({ method, path, headers })
    active++
    response.once('close', () => active--)
    void answer(request, response, calls.length)
  })
  server.on('connection', (socket) => {
    most = Math.max(most, ++sockets)
    socket.once('close', () => sockets--)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    mostSockets: () => most,
    active: () => active,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((done) => server.close(done))
      server.closeAllConnections()
      await closed
    },
  }
}
