import { source, type RulePage } from '../page.ts'

export const lifetimeMismatchPages: readonly RulePage[] = [
  {
    id: 'H301',
    name: 'guard-removed-early',
    class: 'lifetime-mismatch',
    level: 'error',
    summary: 'A guard is taken out of its registry while others may hold it or wait for it.',
    what: `A lock that lives in a map is deleted from it without knowing that nobody holds it or waits
for it, or before the state that it guards is torn down.`,
    why: `The next caller finds no lock and makes a new one. Two tasks now hold "the" lock of one key at
the same time, and each is sure to be alone.`,
    race: source`
      import { Mutex } from 'async-mutex'

      const locks = new Map<string, Mutex>()
      const totals = new Map<string, number>()

      export async function add(key: string, amount: number): Promise<void> {
        const lock = locks.get(key) ?? new Mutex()
        locks.set(key, lock)
        const release = await lock.acquire()
        try {
          const total = totals.get(key) ?? 0
          await audit(key, amount)
          totals.set(key, total + amount)
        } finally {
          release()
          locks.delete(key)
        }
      }
    `,
    steps: [
      ['A', 'holds the lock of k'],
      ['B', 'waits for the same lock'],
      ['A', 'releases it and deletes it from the registry'],
      ['B', 'holds the old lock and reads the total'],
      ['C', 'finds no lock, makes a new one, and reads the same total'],
      ['B', 'writes; C writes: one amount is lost'],
    ],
    window: [3, 6],
    fixed: source`
      import { Mutex } from 'async-mutex'

      const locks = new Map<string, Mutex>()
      const totals = new Map<string, number>()

      export async function add(key: string, amount: number): Promise<void> {
        const lock = locks.get(key) ?? new Mutex()
        locks.set(key, lock)
        const release = await lock.acquire()
        try {
          const total = totals.get(key) ?? 0
          await audit(key, amount)
          totals.set(key, total + amount)
        } finally {
          release()
          if (!lock.isLocked()) locks.delete(key)
        }
      }
    `,
    fixes: [
      'Delete the lock only when nobody holds it and nobody waits.',
      'Count the users of each lock, from before they wait.',
      'Use a lock that is made for keys, and forgets the unused ones itself.',
    ],
  },
  {
    id: 'H302',
    name: 'timed-acquire-ignored',
    class: 'lifetime-mismatch',
    level: 'error',
    summary: 'A guard is asked for with a time limit, and the answer is not looked at.',
    what: `The result of an acquire that may fail (with a time limit, or without waiting) is ignored, and
the code goes on as if the guard were held.`,
    why: `Under load, which is when the lock matters, the time limit passes and everybody walks in.`,
    race: source`
      import type { Semaphore } from './semaphore.ts'

      export class Account {
        readonly #lock: Semaphore

        constructor(lock: Semaphore) {
          this.#lock = lock
        }

        async withdraw(amount: number): Promise<void> {
          await this.#lock.tryAcquire(1_000)
          try {
            await book(amount)
          } finally {
            this.#lock.release()
          }
        }
      }
    `,
    steps: [
      ['A', 'holds the lock, and books'],
      ['B', 'waits a second; tryAcquire() gives false'],
      ['B', 'goes on without the lock: two bookings at once'],
      ['B', 'releases a lock that A holds'],
    ],
    window: [2, 4],
    fixed: source`
      import type { Semaphore } from './semaphore.ts'

      export class Account {
        readonly #lock: Semaphore

        constructor(lock: Semaphore) {
          this.#lock = lock
        }

        async withdraw(amount: number): Promise<void> {
          if (!(await this.#lock.tryAcquire(1_000))) throw new Error('busy, try again')
          try {
            await book(amount)
          } finally {
            this.#lock.release()
          }
        }
      }
    `,
    fixes: [
      'Look at the answer, and refuse the work when the guard is not held.',
      'Use an acquire that throws when its time is over.',
    ],
  },
  {
    id: 'H303',
    name: 'release-not-on-all-paths',
    class: 'lifetime-mismatch',
    level: 'warning',
    summary: 'A guard is not released, or a flag not cleared, when the work in between throws.',
    what: `A lock is acquired or an in-flight flag is set, a suspension or a call that may throw follows,
and the release is not in a finally block.`,
    why: `One failure, and nobody gets in again: the queue stands still until the process is restarted.`,
    race: source`
      export class Refresher {
        #isRunning = false
        #value = ''

        async refresh(): Promise<void> {
          if (this.#isRunning) return
          this.#isRunning = true
          this.#value = await fetchValue()
          this.#isRunning = false
        }

        get value(): string {
          return this.#value
        }
      }
    `,
    steps: [
      ['A', 'refresh(): sets the flag'],
      ['A', 'fetchValue() rejects: refresh() ends, the flag stays set'],
      ['B', 'refresh(): returns at once, now and for ever'],
    ],
    window: [2, 3],
    fixed: source`
      export class Refresher {
        #isRunning = false
        #value = ''

        async refresh(): Promise<void> {
          if (this.#isRunning) return
          this.#isRunning = true
          try {
            this.#value = await fetchValue()
          } finally {
            this.#isRunning = false
          }
        }

        get value(): string {
          return this.#value
        }
      }
    `,
    fixes: [
      'Release in finally.',
      'Use a guard that releases itself: using permit = await lock.acquire().',
      'Give the work to the guard: lock.runExclusive(() => …).',
    ],
  },
  {
    id: 'H304',
    name: 'registered-too-late',
    class: 'lifetime-mismatch',
    level: 'warning',
    summary: 'A resource is registered for clean-up only after a suspension.',
    what: `A resource is opened, the task is suspended, and only then the resource is put where close()
will find it.`,
    why: `A close() that comes in between closes everything but this one. The process does not end, or a
socket stays open for ever.`,
    race: source`
      export class Listener {
        readonly #connections = new Set<Connection>()

        async onSocket(socket: Socket): Promise<void> {
          const connection = await upgrade(socket)
          this.#connections.add(connection)
        }

        async close(): Promise<void> {
          for (const connection of this.#connections) connection.destroy()
          this.#connections.clear()
        }
      }
    `,
    steps: [
      ['A', 'onSocket(): a socket arrives'],
      ['A', 'await upgrade(socket): suspended'],
      ['B', 'close(): destroys all connections that are registered'],
      ['A', 'registers its connection: nobody will ever destroy it'],
    ],
    window: [2, 4],
    fixed: source`
      export class Listener {
        readonly #connections = new Set<Connection>()
        #isClosed = false

        async onSocket(socket: Socket): Promise<void> {
          const connection = await upgrade(socket)
          if (this.#isClosed) return connection.destroy()
          this.#connections.add(connection)
        }

        async close(): Promise<void> {
          this.#isClosed = true
          for (const connection of this.#connections) connection.destroy()
          this.#connections.clear()
        }
      }
    `,
    fixes: [
      'Register before the first suspension.',
      'After the suspension check whether close() has run, and close the resource yourself.',
      'Pass an AbortSignal that close() aborts.',
    ],
  },
  {
    id: 'H305',
    name: 'renewal-stops-early',
    class: 'lifetime-mismatch',
    level: 'warning',
    summary: 'A renewal or heartbeat stops before the work that it protects has ended.',
    what: `A timer that renews a lease, a lock or a visibility time-out is cleared while work that needs
it is still to come.`,
    why: `The lease runs out in the last seconds of the work, another worker takes it over, and both
finish it.`,
    race: source`
      export async function work(lease: Lease): Promise<void> {
        const beat = setInterval(() => lease.renew(), 5_000)
        const result = await compute(lease.task)
        clearInterval(beat)
        await upload(result)
        await lease.complete()
      }
    `,
    steps: [
      ['A', 'computes, and renews its lease every five seconds'],
      ['A', 'stops renewing, and uploads for a minute'],
      ['B', 'the lease has run out: another worker takes the task'],
      ['A', 'completes a lease that is no longer its own'],
    ],
    window: [2, 4],
    fixed: source`
      export async function work(lease: Lease): Promise<void> {
        const beat = setInterval(() => lease.renew(), 5_000)
        try {
          const result = await compute(lease.task)
          await upload(result)
          await lease.complete()
        } finally {
          clearInterval(beat)
        }
      }
    `,
    fixes: [
      'Stop renewing in finally, after the last step that needs the lease.',
      'Check that the lease is still yours before the result is written (fencing token).',
    ],
  },
  {
    id: 'H306',
    name: 'guard-key-mismatch',
    class: 'lifetime-mismatch',
    level: 'error',
    summary: 'State is kept by one key, and guarded by another.',
    what: `The entry of a container is accessed under a guard that is looked up by a key from which the
key of the entry does not follow.`,
    why: `Two tasks that hold different guards change the same entry; or tasks that have nothing to do
with each other wait in one line.`,
    race: source`
      import { Mutex } from 'async-mutex'

      const locks = new Map<string, Mutex>()
      const balances = new Map<string, number>()

      function lockOf(key: string): Mutex {
        const lock = locks.get(key) ?? new Mutex()
        locks.set(key, lock)
        return lock
      }

      export async function pay(user: string, account: string, amount: number): Promise<void> {
        await lockOf(user).runExclusive(async () => {
          const balance = balances.get(account) ?? 0
          await audit(user, amount)
          balances.set(account, balance - amount)
        })
      }
    `,
    steps: [
      ['A', 'pay(ann, house): holds the lock of ann, reads the balance of house'],
      ['A', 'await audit(): suspended'],
      ['B', 'pay(bob, house): holds the lock of bob, reads the same balance'],
      ['A', 'writes the balance of house'],
      ['B', 'writes the balance of house: the payment of A is lost'],
    ],
    window: [2, 5],
    fixed: source`
      import { Mutex } from 'async-mutex'

      const locks = new Map<string, Mutex>()
      const balances = new Map<string, number>()

      function lockOf(key: string): Mutex {
        const lock = locks.get(key) ?? new Mutex()
        locks.set(key, lock)
        return lock
      }

      export async function pay(user: string, account: string, amount: number): Promise<void> {
        await lockOf(account).runExclusive(async () => {
          const balance = balances.get(account) ?? 0
          await audit(user, amount)
          balances.set(account, balance - amount)
        })
      }
    `,
    fixes: [
      'Look the guard up by the key of the state.',
      'Keep the guard in the entry that it protects.',
    ],
  },
  {
    id: 'H307',
    name: 'unbounded-cleanup-wait',
    class: 'lifetime-mismatch',
    level: 'warning',
    summary: 'A clean-up path waits, without a limit, for something that another task has to do.',
    what: `In a finally block, or in a close or dispose method, an event or a promise is awaited that
another task sets, without a deadline or a signal.`,
    why: `If that task failed, or was never started, shutdown hangs. The only way out is kill -9, and
with it everything that clean-up was for.`,
    race: source`
      export class Worker {
        readonly #stopped = Promise.withResolvers<void>()
        #isStopping = false

        async run(): Promise<void> {
          while (!this.#isStopping) await this.step()
          this.#stopped.resolve()
        }

        async step(): Promise<void> {
          await nextTask()
        }

        async close(): Promise<void> {
          this.#isStopping = true
          await this.#stopped.promise
        }
      }
    `,
    steps: [
      ['A', 'run(): step() rejects, run() ends without telling anybody'],
      ['B', 'close(): waits for a promise that nobody will resolve'],
    ],
    window: [1, 2],
    fixed: source`
      import { setTimeout as sleep } from 'node:timers/promises'

      export class Worker {
        readonly #stopped = Promise.withResolvers<void>()
        #isStopping = false

        async run(): Promise<void> {
          try {
            while (!this.#isStopping) await this.step()
          } finally {
            this.#stopped.resolve()
          }
        }

        async step(): Promise<void> {
          await nextTask()
        }

        async close(): Promise<void> {
          this.#isStopping = true
          await Promise.race([this.#stopped.promise, sleep(5_000)])
        }
      }
    `,
    fixes: [
      'Give the wait a deadline or a signal, and say what was left behind when it passes.',
      'Set the event in finally, so that it comes on every path.',
    ],
  },
]
