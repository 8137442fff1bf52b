/** A shop to practise on: 60 pages of sales behind a server that refuses more than 30 requests in a second. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const pages = 60
const rowsOfPage = 500
const requestsPerSecond = 30
const shops = ['Bergen', 'Graz', 'Lecce', 'Tartu']

export interface Shop extends AsyncDisposable {
  readonly url: string
  /** How many requests there were, and how many of them were refused. */
  readonly requests: number
  readonly refused: number
}

function pageOf(number: number): string {
  const rows = Array.from({ length: rowsOfPage }, (_, row) => {
    const shop = shops[(number + row) % shops.length]!
    return `${shop};${100 + ((number * 31 + row * 17) % 900)}`
  })
  return `${rows.join('\n')}\n`
}

export async function openShop(): Promise<Shop> {
  let second = 0
  let inSecond = 0
  let requests = 0
  let refused = 0
  const server = createServer((request, response) => {
    requests++
    const now = Math.floor(performance.now() / 1_000)
    inSecond = now === second ? inSecond + 1 : 1
    second = now
    if (inSecond > requestsPerSecond) {
      refused++
      response.writeHead(429, { 'retry-after': '1' }).end()
      return
    }
    const page = /^\/pages\/(\d+)$/.exec(request.url ?? '')?.[1]
    if (request.url === '/pages') {
      response.end(JSON.stringify(Array.from({ length: pages }, (_, i) => `/pages/${i}`)))
    } else if (page !== undefined && Number(page) < pages) response.end(pageOf(Number(page)))
    else response.writeHead(404).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    get requests() {
      return requests
    },
    get refused() {
      return refused
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
