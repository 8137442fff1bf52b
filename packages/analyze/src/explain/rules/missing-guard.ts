import { source, type RulePage } from '../page.ts'

export const missingGuardPages: readonly RulePage[] = [
  {
    id: 'H401',
    name: 'unguarded-write',
    class: 'missing-guard',
    level: 'warning',
    summary: 'Shared state that several callers change after a suspension has no guard anywhere.',
    what: `A function that can overlap itself writes a shared location after a suspension; others read
it; nothing guards it. Reported where the state has several fields, is a counter, or is a credential that
can be used once.`,
    why: `The last one to come back wins, in whatever order the network likes. With rotating tokens the
loser has just revoked what the winner is about to use, and the user is logged out.`,
    race: source`
      export class Auth {
        #refreshToken = 'initial'
        #accessToken = ''

        async refresh(): Promise<void> {
          const tokens = await exchange(this.#refreshToken)
          this.#refreshToken = tokens.refresh
          this.#accessToken = tokens.access
        }

        get header(): string {
          return 'Bearer ' + this.#accessToken
        }
      }
    `,
    steps: [
      ['A', 'refresh(): sends the refresh token'],
      ['A', 'await exchange(): suspended'],
      ['B', 'refresh(): sends the same refresh token, which is used up by now'],
      ['A', 'stores new tokens'],
      ['B', 'is refused: the session is lost'],
    ],
    window: [2, 4],
    fixed: source`
      export class Auth {
        #refreshToken = 'initial'
        #accessToken = ''
        #refreshing: Promise<void> | undefined

        refresh(): Promise<void> {
          this.#refreshing ??= this.#exchange().finally(() => (this.#refreshing = undefined))
          return this.#refreshing
        }

        async #exchange(): Promise<void> {
          const tokens = await exchange(this.#refreshToken)
          this.#refreshToken = tokens.refresh
          this.#accessToken = tokens.access
        }

        get header(): string {
          return 'Bearer ' + this.#accessToken
        }
      }
    `,
    fixes: [
      'Share one running operation between all callers (single flight).',
      'Hold a mutex over the exchange.',
      'Run it in a queue of concurrency 1.',
    ],
  },
  {
    id: 'H402',
    name: 'inconsistent-guard',
    class: 'missing-guard',
    level: 'error',
    summary: 'State that is guarded in most places is accessed without the guard in another.',
    what: `A shared location is accessed under one guard in at least two places, and without it in a
region that may overlap them.`,
    why: `Somebody knew that it needs the guard, and somebody else did not. The guard protects nothing as
long as one path walks around it.`,
    race: source`
      import { Mutex } from 'async-mutex'

      export class Store {
        readonly #lock = new Mutex()
        #entries: string[] = []

        async add(entry: string): Promise<void> {
          await this.#lock.runExclusive(async () => {
            const entries = [...this.#entries, entry]
            await save(entries)
            this.#entries = entries
          })
        }

        async remove(entry: string): Promise<void> {
          await this.#lock.runExclusive(async () => {
            const entries = this.#entries.filter((each) => each !== entry)
            await save(entries)
            this.#entries = entries
          })
        }

        async clear(): Promise<void> {
          await save([])
          this.#entries = []
        }
      }
    `,
    steps: [
      ['A', 'add(): holds the lock, copies the entries'],
      ['A', 'await save(): suspended'],
      ['B', 'clear(): takes no lock, saves and empties the list'],
      ['A', 'writes its copy: what was cleared is back, in memory only'],
    ],
    window: [2, 4],
    fixed: source`
      import { Mutex } from 'async-mutex'

      export class Store {
        readonly #lock = new Mutex()
        #entries: string[] = []

        async add(entry: string): Promise<void> {
          await this.#lock.runExclusive(async () => {
            const entries = [...this.#entries, entry]
            await save(entries)
            this.#entries = entries
          })
        }

        async remove(entry: string): Promise<void> {
          await this.#lock.runExclusive(async () => {
            const entries = this.#entries.filter((each) => each !== entry)
            await save(entries)
            this.#entries = entries
          })
        }

        async clear(): Promise<void> {
          await this.#lock.runExclusive(async () => {
            await save([])
            this.#entries = []
          })
        }
      }
    `,
    fixes: [
      'Take the same guard here as well.',
      'If this path cannot overlap the others, say so: /** @serial */ or a suppression with the reason.',
    ],
  },
  {
    id: 'H403',
    name: 'overlapping-timer',
    class: 'missing-guard',
    level: 'warning',
    summary: 'An async callback runs periodically, and the next round does not wait for the last.',
    what: `An async function without protection against overlapping itself is called by setInterval,
or by an event that comes again and again.`,
    why: `The day one round takes longer than the interval, two run at once, then three. They slow each
other down, the queue grows, and the process runs out of memory.`,
    race: source`
      export class Sync {
        #last = 0

        start(): void {
          setInterval(async () => {
            const changes = await fetchChanges(this.#last)
            await store(changes)
            this.#last = changes.at(-1)?.id ?? this.#last
          }, 1_000)
        }
      }
    `,
    steps: [
      ['A', 'first round: fetches the changes after 0'],
      ['A', 'await store(): suspended, it takes long'],
      ['B', 'second round: fetches the changes after 0 again'],
      ['B', 'stores them a second time'],
    ],
    window: [2, 4],
    fixed: source`
      import { setTimeout as sleep } from 'node:timers/promises'

      export class Sync {
        #last = 0

        async start(signal: AbortSignal): Promise<void> {
          while (!signal.aborted) {
            const changes = await fetchChanges(this.#last)
            await store(changes)
            this.#last = changes.at(-1)?.id ?? this.#last
            await sleep(1_000, undefined, { signal })
          }
        }
      }
    `,
    fixes: [
      'Loop: work, then sleep. The next round starts when the last one has ended.',
      'Set a flag before the first suspension, skip a round while it is set, and clear it in finally.',
    ],
  },
  {
    id: 'H404',
    name: 'shared-remote-state',
    class: 'missing-guard',
    level: 'warning',
    summary:
      'A shared session is set up, and used after a suspension in which others set it up too.',
    what: `State on the other side of a shared connection, page or session is set (a database is
selected, a page is opened), the task is suspended, and then the state is relied upon.`,
    why: `The connection has one current database, one current page. The second task changes it, and the
first one reads, or writes, in the wrong place.`,
    race: source`
      export class Browser {
        readonly #page = openPage()

        async title(url: string): Promise<string> {
          await this.#page.goto(url)
          return await this.#page.title()
        }
      }
    `,
    steps: [
      ['A', 'goto(/a): suspended'],
      ['B', 'goto(/b): suspended'],
      ['A', 'title(): that of /b'],
    ],
    window: [1, 3],
    fixed: source`
      import { Mutex } from 'async-mutex'

      export class Browser {
        readonly #page = openPage()
        readonly #lock = new Mutex()

        async title(url: string): Promise<string> {
          return this.#lock.runExclusive(async () => {
            await this.#page.goto(url)
            return await this.#page.title()
          })
        }
      }
    `,
    fixes: [
      'Take a session of your own for each task, from a pool.',
      'Hold a mutex from setting to use.',
      'Send both in one request, where the protocol can (a transaction, a qualified name).',
    ],
  },
  {
    id: 'H405',
    name: 'sleep-as-synchronisation',
    class: 'missing-guard',
    level: 'note',
    summary: 'A fixed sleep stands where a wait for an event belongs.',
    what: `Something is started without being awaited, a fixed time is slept, and then the code goes on
as if it were ready.`,
    why: `On a loaded machine it is not ready yet; on a fast one the time is wasted. It is the most
frequent cause of tests that fail now and then.`,
    race: source`
      import { setTimeout as sleep } from 'node:timers/promises'

      export class Service {
        #server: Server | undefined

        async start(): Promise<string> {
          void this.#listen()
          await sleep(500)
          return this.#server!.url
        }

        async #listen(): Promise<void> {
          this.#server = await createServer()
        }
      }
    `,
    steps: [
      ['A', 'starts to listen, and does not wait for it'],
      ['A', 'sleeps half a second'],
      ['A', 'reads the URL of a server that is not there yet'],
      ['B', 'the server listens'],
    ],
    window: [2, 3],
    fixed: source`
      export class Service {
        #server: Server | undefined

        async start(): Promise<string> {
          this.#server = await createServer()
          return this.#server.url
        }
      }
    `,
    fixes: [
      'Await what makes it ready.',
      'Wait for the event, with a deadline.',
      'Ask again and again, with a deadline, where there is nothing to wait for.',
    ],
  },
]
