import { createHash } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import type { Held } from './kit.ts'

export const megabyte = 1_000_000

/** A file of this many megabytes, which is never in memory as a whole. */
export class Large {
  readonly length: number
  readonly sha256: string
  readonly #piece = Buffer.alloc(megabyte, 'heddle')
  readonly #megabytes: number

  constructor(megabytes: number) {
    this.#megabytes = megabytes
    this.length = megabytes * megabyte
    const hash = createHash('sha256')
    for (let piece = 0; piece < megabytes; piece++) hash.update(this.#piece)
    this.sha256 = hash.digest('hex')
  }

  begin({ url }: { readonly url: string }, held: Held, name: string): http.ClientRequest {
    const query = new URLSearchParams({
      name,
      epoch: String(held.epoch),
      worker: held.worker,
      length: String(this.length),
      sha256: this.sha256,
    })
    const request = http.request(`${url}/fleet/artifacts/${held.lease}?${query.toString()}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/octet-stream', 'content-length': this.length },
      agent: false,
    })
    request.on('error', () => undefined)
    return request
  }

  /** Sends the first megabytes, each when the one before has left. */
  async send(
    request: http.ClientRequest,
    count = this.#megabytes,
    look?: () => Promise<void>,
  ): Promise<void> {
    for (let piece = 0; piece < count; piece++) {
      if (!request.write(this.#piece)) await once(request, 'drain')
      await look?.()
    }
  }

  async put(server: { readonly url: string }, held: Held, name: string): Promise<number> {
    const request = this.begin(server, held, name)
    const answered = once(request, 'response') as Promise<[http.IncomingMessage]>
    await this.send(request)
    request.end()
    const [response] = await answered
    response.resume()
    return response.statusCode!
  }
}
