import { source, type RulePage } from '../page.ts'

export const toctouPages: readonly RulePage[] = [
  {
    id: 'H101',
    name: 'check-then-act',
    class: 'toctou',
    level: 'error',
    summary: 'Shared state is checked before a suspension and written after it.',
    what: `A branch reads a shared location, the task is suspended, and then it writes that location
without looking again. Nothing that another task would see is written before the suspension, and no
guard is held over it. Lazy initialisation, a flag that is set too late and a limit that is counted too
late are the usual forms.`,
    why: `Every caller that arrives during the suspension sees what the first one saw, and acts as
well. Two connections are opened and one is never closed, a token is requested ten times and nine of
them are revoked, a limit of five lets seven through. It needs no bad luck, only two callers at start-up.`,
    race: source`
      export class Client {
        #session: Session | undefined

        async connect(): Promise<Session> {
          if (this.#session === undefined) {
            const session = await openSession()
            this.#session = session
          }
          return this.#session
        }

        async close(): Promise<void> {
          await this.#session?.end()
        }
      }
    `,
    steps: [
      ['A', 'connect(): there is no session'],
      ['A', 'await openSession(): suspended'],
      ['B', 'connect(): there is still no session'],
      ['B', 'await openSession(): suspended'],
      ['A', 'keeps its session and returns it'],
      ['B', 'overwrites it with another: the first one is never ended'],
    ],
    window: [2, 5],
    fixed: source`
      export class Client {
        #session: Promise<Session> | undefined

        connect(): Promise<Session> {
          this.#session ??= openSession()
          return this.#session
        }

        async close(): Promise<void> {
          const session = await this.#session
          await session?.end()
        }
      }
    `,
    fixes: [
      'Keep the promise instead of the value, and write it in the region of the check (single flight).',
      'Set the flag, or count the place, before the first suspension, and take it back when that fails.',
      'Look again after the suspension, and throw away your own result if somebody was faster.',
      'Hold a mutex over check and act.',
    ],
  },
  {
    id: 'H102',
    name: 'check-then-subscribe',
    class: 'toctou',
    level: 'error',
    summary: 'State is asked for first, and its change is subscribed to only after a suspension.',
    what: `A task asks whether something has happened (a field, a row, a key of another system), is
suspended, and then registers a listener for the event that would tell it. The event may have come in
between.`,
    why: `The listener waits for something that is over. The promise never settles; a request hangs
until a timeout that hides the cause, or for ever.`,
    race: source`
      import type { EventEmitter } from 'node:events'

      export class Job {
        readonly #events: EventEmitter
        readonly #id: string
        #isDone = false

        constructor(events: EventEmitter, id: string) {
          this.#events = events
          this.#id = id
          events.on('completed:' + id, () => (this.#isDone = true))
        }

        async waitUntilFinished(): Promise<void> {
          if (this.#isDone) return
          await this.#ready()
          await new Promise<void>((resolve) => {
            this.#events.once('completed:' + this.#id, () => resolve())
          })
        }

        async #ready(): Promise<void> {
          await connectionReady()
        }
      }
    `,
    steps: [
      ['A', 'waitUntilFinished(): the job is not done'],
      ['A', 'await this.#ready(): suspended'],
      ['B', 'the job completes, and the event is emitted: nobody listens'],
      ['A', 'subscribes to an event that has come and gone'],
    ],
    window: [2, 4],
    fixed: source`
      import type { EventEmitter } from 'node:events'

      export class Job {
        readonly #events: EventEmitter
        readonly #id: string
        #isDone = false

        constructor(events: EventEmitter, id: string) {
          this.#events = events
          this.#id = id
          events.on('completed:' + id, () => (this.#isDone = true))
        }

        async waitUntilFinished(): Promise<void> {
          await this.#ready()
          await new Promise<void>((resolve) => {
            this.#events.once('completed:' + this.#id, () => resolve())
            if (this.#isDone) resolve()
          })
        }

        async #ready(): Promise<void> {
          await connectionReady()
        }
      }
    `,
    fixes: [
      'Subscribe first, then ask, and unsubscribe if the answer makes the listener needless.',
      'Ask again, in the same region as the subscription.',
    ],
  },
  {
    id: 'H103',
    name: 'external-check-then-use',
    class: 'toctou',
    level: 'warning',
    summary:
      'Something outside the process is checked, then created or written, with no conflict in mind.',
    what: `A file, a row, a key or a port is looked up; after a suspension it is created or written,
without an exclusive flag, a conditional write, a transaction, or handling of the conflict.`,
    why: `Other tasks, and other processes, change what is outside. The second writer silently
overwrites the first; a check that passed in every test fails under load.`,
    race: source`
      import { access, writeFile } from 'node:fs/promises'

      export async function reserve(name: string, owner: string): Promise<boolean> {
        const file = 'reservations/' + name
        try {
          await access(file)
          return false
        } catch {
          await writeFile(file, owner)
          return true
        }
      }
    `,
    steps: [
      ['A', 'access(): the file does not exist'],
      ['B', 'access(): the file does not exist'],
      ['A', 'writes its name: reserved'],
      ['B', 'writes its name over it: reserved as well'],
    ],
    window: [1, 4],
    fixed: source`
      import { writeFile } from 'node:fs/promises'

      export async function reserve(name: string, owner: string): Promise<boolean> {
        try {
          await writeFile('reservations/' + name, owner, { flag: 'wx' })
          return true
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
          throw error
        }
      }
    `,
    fixes: [
      'Let the system decide: the flag wx for files, SET NX for Redis, a unique constraint or ON CONFLICT for rows.',
      'Put check and write into one transaction, or into one conditional write with a version.',
      'Handle the conflict when it comes, instead of asking for it before.',
    ],
  },
  {
    id: 'H104',
    name: 'reentrant-callback',
    class: 'toctou',
    level: 'warning',
    summary: 'Between a check and its act a callback runs, and it can come back here at once.',
    what: `Shared state is checked, then an event is emitted or a callback is called, and then the
state is written, all without a suspension. emit(), dispatchEvent() and calling a callback run other
code now, not later.`,
    why: `A listener that calls back into the same object finds it half changed. No await is needed,
so nobody looks for a race here.`,
    race: source`
      import { EventEmitter } from 'node:events'

      export class Pool extends EventEmitter {
        #free = 3

        take(): boolean {
          if (this.#free === 0) return false
          this.emit('taken')
          this.#free = this.#free - 1
          return true
        }
      }
    `,
    steps: [
      ['A', 'take(): one place is free'],
      ['A', "emit('taken') calls a listener"],
      ['B', 'the listener calls take(): the same place is still free'],
      ['B', 'counts down to 0'],
      ['A', 'counts down to -1'],
    ],
    window: [2, 4],
    fixed: source`
      import { EventEmitter } from 'node:events'

      export class Pool extends EventEmitter {
        #free = 3

        take(): boolean {
          if (this.#free === 0) return false
          this.#free = this.#free - 1
          this.emit('taken')
          return true
        }
      }
    `,
    fixes: [
      'Change the state first, then tell others.',
      'Tell others later: queueMicrotask(() => this.emit(…)).',
      'Refuse calls that come back while one is under way.',
    ],
  },
]
