/** The servers of a cluster: processes that are started, killed, stopped and continued. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { CutLink } from './cut-link.ts'

export interface Member {
  /** Unique: a server that was killed is replaced by another. */
  readonly number: number
  readonly child: ChildProcess
  readonly url: string
  readonly link: CutLink
  /** Neither killed, stopped nor cut off. */
  isUp: boolean
  /** Batches that the database has refused, as far as this was read. */
  refused: number
}

interface ClusterHealth {
  readonly shards: number
  readonly sure: boolean
  readonly refused_batches: number
}

export class Members implements AsyncDisposable {
  /** A place for each server; a new one takes the place of one that was killed. */
  readonly #places: Member[] = []
  readonly #address: string
  readonly #port: () => number
  #started = 0
  #refused = 0

  /** @param port Of the database, at this moment. */
  constructor(address: string, port: () => number) {
    this.#address = address
    this.#port = port
  }

  get all(): readonly Member[] {
    return this.#places
  }

  get up(): readonly Member[] {
    return this.#places.filter(({ isUp }) => isUp)
  }

  /** Batches that the database has refused. */
  get refused(): number {
    return this.#refused
  }

  at(number: number): Member {
    return this.#places[number % this.#places.length]!
  }

  /** *Cancellation*: none; it waits for the process to listen. */
  async start(place: number): Promise<void> {
    const number = ++this.#started
    const link = await CutLink.open(this.#port)
    const store = new URL(this.#address)
    store.port = String(link.port)
    store.searchParams.set('schema', 'chaos')
    // The audit reads which server a connection belongs to.
    store.searchParams.set('options', `-c heddle.member=${number}`)
    const program = fileURLToPath(new URL('served.ts', import.meta.url))
    const child = fork(program, [store.href], {
      execArgv: ['--conditions=heddle-source'],
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    })
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`server ${number} ended with ${code} before it listened`)
    })
    const lines = createInterface(child.stdout!)
    const [line] = (await Promise.race([once(lines, 'line'), ended])) as [string]
    const { url } = JSON.parse(line) as { url: string }
    this.#places[place] = { number, child, url, link, isUp: true, refused: 0 }
  }

  async kill(place: number): Promise<void> {
    const { child, link } = this.#places[place]!
    this.#places[place]!.isUp = false
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    await link[Symbol.asyncDispose]()
  }

  /** Waits until the servers that are up own all shards, and are sure of them. Resolves with the milliseconds. */
  async ownAll(limit = 120_000): Promise<number> {
    const since = performance.now()
    for (;;) {
      const found = await Promise.all(this.up.map((member) => this.#shardsOf(member)))
      const owned = found.reduce((sum, shards) => sum + shards, 0)
      const passed = performance.now() - since
      if (owned === 256) return passed
      if (passed > limit) {
        const each = found.map((shards, index) => `${this.up[index]!.number}: ${shards}`)
        throw new Error(
          `${owned} of 256 shards have an owner after ${limit} ms (${each.join(', ')})`,
        )
      }
      await sleep(50)
    }
  }

  async #shardsOf(member: Member): Promise<number> {
    try {
      const answer = await fetch(`${member.url}/healthz`, { signal: AbortSignal.timeout(5_000) })
      const { cluster } = (await answer.json()) as { cluster: ClusterHealth }
      this.#refused += Math.max(0, cluster.refused_batches - member.refused)
      member.refused = cluster.refused_batches
      return cluster.sure ? cluster.shards : 0
    } catch {
      return 0
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { child, link } of this.#places) {
      child.kill('SIGKILL')
      await link[Symbol.asyncDispose]().catch(() => undefined)
    }
  }
}
