/**
 * The link between one server and the database, with faults: every byte passes through here.
 *
 *   open ──cut──▶ silent    nothing passes in either direction, and no side notices
 *                 deaf      the database hears the server, its answers are lost
 *                 refused   connections are closed, new ones are refused
 *   silent, deaf, refused ──mend──▶ open: cut connections are closed, the server connects again
 */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

export type Cut = 'silent' | 'deaf' | 'refused'

interface Pair {
  readonly near: Socket
  readonly far: Socket
}

export class CutLink implements AsyncDisposable {
  readonly #server: Server
  readonly #targetPort: () => number
  readonly #pairs = new Set<Pair>()
  #cut: Cut | undefined

  private constructor(targetPort: () => number) {
    this.#targetPort = targetPort
    this.#server = createServer((near) => this.#accept(near))
  }

  /** @param targetPort Of the database: asked for every new connection. */
  static async open(targetPort: () => number): Promise<CutLink> {
    const link = new CutLink(targetPort)
    link.#server.listen(0, '127.0.0.1')
    await once(link.#server, 'listening')
    return link
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  cut(how: Cut): void {
    this.#cut = how
    for (const pair of this.#pairs) this.#obey(pair)
  }

  mend(): void {
    this.#cut = undefined
    this.closeAll()
  }

  /** Closes the connections; new ones are made at once. */
  closeAll(): void {
    for (const { near, far } of this.#pairs) {
      near.resetAndDestroy()
      far.destroy()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.closeAll()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #accept(near: Socket): void {
    if (this.#cut === 'refused') return void near.resetAndDestroy()
    const far = connect(this.#targetPort(), '127.0.0.1')
    const pair: Pair = { near, far }
    this.#pairs.add(pair)
    const end = (): void => {
      this.#pairs.delete(pair)
      near.destroy()
      far.destroy()
    }
    for (const socket of [near, far]) {
      socket.setNoDelay(true)
      socket.on('error', end)
      socket.on('close', end)
    }
    near.pipe(far)
    far.pipe(near)
    this.#obey(pair)
  }

  #obey({ near, far }: Pair): void {
    switch (this.#cut) {
      case undefined:
        return
      case 'refused':
        near.resetAndDestroy()
        return
      case 'deaf':
        far.unpipe(near)
        far.resume()
        return
      case 'silent':
        near.unpipe(far)
        far.unpipe(near)
        near.pause()
        far.pause()
    }
  }
}
