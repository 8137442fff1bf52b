import { source, type RulePage } from '../page.ts'

export const staleReferencePages: readonly RulePage[] = [
  {
    id: 'H201',
    name: 'use-after-await',
    class: 'stale-reference',
    level: 'error',
    summary: 'A resource is used after a suspension in which another task can close it.',
    what: `A task gets hold of a resource, or checks that it is usable, is suspended, and then uses it
without looking again; somewhere in the program another task closes, destroys, deletes or clears it.`,
    why: `The use meets a closed socket, a destroyed stream or a collection that is gone. The error
appears far from its cause, and mostly during shutdown, where it is least wanted.`,
    race: source`
      export class Cleaner {
        #storage: Storage | undefined = openStorage()

        async clean(): Promise<void> {
          const storage = this.#storage
          if (storage === undefined) return
          await idle()
          await storage.removeOld()
        }

        async close(): Promise<void> {
          const storage = this.#storage
          this.#storage = undefined
          await storage?.close()
        }
      }
    `,
    steps: [
      ['A', 'clean(): the storage is open'],
      ['A', 'await idle(): suspended'],
      ['B', 'close(): clears the field and closes the storage'],
      ['A', 'storage.removeOld() on a closed storage'],
    ],
    window: [2, 4],
    fixed: source`
      export class Cleaner {
        #storage: Storage | undefined = openStorage()

        async clean(): Promise<void> {
          await idle()
          const storage = this.#storage
          if (storage === undefined) return
          await storage.removeOld()
        }

        async close(): Promise<void> {
          const storage = this.#storage
          this.#storage = undefined
          await storage?.close()
        }
      }
    `,
    fixes: [
      'Look again after the suspension.',
      'Pass an AbortSignal that close() aborts, and check it after each await.',
      'Count the users, and let close() wait for the last one.',
    ],
  },
  {
    id: 'H202',
    name: 'superseded-completion',
    class: 'stale-reference',
    level: 'warning',
    summary: 'A late completion writes or deletes an entry that a newer operation may own.',
    what: `When an operation ends, its continuation writes or deletes the entry of a shared container,
without checking that the entry is still its own.`,
    why: `The older answer overwrites the newer one: the search box shows the results of what was typed
before. Or the clean-up of the first operation deletes the entry of the second, which then runs twice.`,
    race: source`
      const running = new Map<string, Promise<string>>()

      export function load(key: string): Promise<string> {
        const known = running.get(key)
        if (known !== undefined) return known
        const promise = fetchText(key)
        running.set(key, promise)
        promise.finally(() => running.delete(key))
        return promise
      }

      export function forget(key: string): void {
        running.delete(key)
      }
    `,
    steps: [
      ['A', 'load(k): starts a request and registers it'],
      ['B', 'forget(k): the entry is deleted'],
      ['C', 'load(k): starts a second request and registers it'],
      ['A', 'the first request ends and deletes the entry of the second'],
      ['D', 'load(k): nothing is registered, a third request starts'],
    ],
    window: [2, 4],
    fixed: source`
      const running = new Map<string, Promise<string>>()

      export function load(key: string): Promise<string> {
        const known = running.get(key)
        if (known !== undefined) return known
        const promise = fetchText(key)
        running.set(key, promise)
        promise.finally(() => {
          if (running.get(key) === promise) running.delete(key)
        })
        return promise
      }

      export function forget(key: string): void {
        running.delete(key)
      }
    `,
    fixes: [
      'Check the identity before you write or delete: if (running.get(key) === promise).',
      'Give each operation a number, and let only the newest one write.',
      'Abort the older operation when a newer one starts.',
    ],
  },
  {
    id: 'H203',
    name: 'early-completion',
    class: 'stale-reference',
    level: 'warning',
    summary: 'A second caller is told that it is done while the first one is still working.',
    what: `A branch on an in-flight flag returns, resolves or calls back at once, although the operation
that set the flag has not ended.`,
    why: `The second caller goes on as if the work were done: it reads a cache that is not loaded, or
closes what is still being flushed.`,
    race: source`
      export class Index {
        #isLoading = false
        #entries: string[] = []

        async load(): Promise<void> {
          if (this.#isLoading) return
          this.#isLoading = true
          try {
            this.#entries = await readEntries()
          } finally {
            this.#isLoading = false
          }
        }

        async has(name: string): Promise<boolean> {
          await this.load()
          return this.#entries.includes(name)
        }
      }
    `,
    steps: [
      ['A', 'load(): sets the flag'],
      ['A', 'await readEntries(): suspended'],
      ['B', 'has(): load() returns at once, the flag is set'],
      ['B', 'looks into an empty list: false'],
      ['A', 'the entries arrive'],
    ],
    window: [2, 5],
    fixed: source`
      export class Index {
        #loading: Promise<string[]> | undefined

        load(): Promise<string[]> {
          this.#loading ??= readEntries()
          return this.#loading
        }

        async has(name: string): Promise<boolean> {
          const entries = await this.load()
          return entries.includes(name)
        }
      }
    `,
    fixes: [
      'Keep the promise of the running operation, and return it to everybody.',
      'Refuse the second caller with an error that says so.',
    ],
  },
  {
    id: 'H204',
    name: 'assumed-entry',
    class: 'stale-reference',
    level: 'warning',
    summary: 'A handler takes for granted that an entry exists, which another task deletes.',
    what: `An entry of a shared container is used with a non-null assertion, or without a check, in a
handler or after a suspension, while another task deletes entries.`,
    why: `A late event for something that is gone throws inside a handler, where nobody catches it: the
process ends.`,
    race: source`
      import type { EventEmitter } from 'node:events'

      interface Peer {
        bytes: number
      }

      export class Peers {
        readonly #peers = new Map<string, Peer>()

        constructor(network: EventEmitter) {
          network.on('join', (id: string) => this.#peers.set(id, { bytes: 0 }))
          network.on('data', (id: string, size: number) => {
            this.#peers.get(id)!.bytes += size
          })
          network.on('leave', (id: string) => this.#peers.delete(id))
        }
      }
    `,
    steps: [
      ['A', 'data of peer 7 is on its way'],
      ['B', 'leave: the entry of peer 7 is deleted'],
      ['A', 'data: get(7) is undefined, the handler throws'],
    ],
    window: [2, 3],
    fixed: source`
      import type { EventEmitter } from 'node:events'

      interface Peer {
        bytes: number
      }

      export class Peers {
        readonly #peers = new Map<string, Peer>()

        constructor(network: EventEmitter) {
          network.on('join', (id: string) => this.#peers.set(id, { bytes: 0 }))
          network.on('data', (id: string, size: number) => {
            const peer = this.#peers.get(id)
            if (peer !== undefined) peer.bytes += size
          })
          network.on('leave', (id: string) => this.#peers.delete(id))
        }
      }
    `,
    fixes: [
      'Check, and decide what a late event means: mostly nothing.',
      'Bind the handler to the entry itself, and remove it when the entry goes.',
    ],
  },
]
