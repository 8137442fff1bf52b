import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Event } from '../../src/sync/event.ts'
import { Gate } from '../../src/sync/gate.ts'
import { KeyedMutex, KeyedRwLock } from '../../src/sync/keyed.ts'
import { Mutex } from '../../src/sync/mutex.ts'
import { Queue } from '../../src/sync/queue.ts'
import { RwLock } from '../../src/sync/rwlock.ts'
import { Semaphore } from '../../src/sync/semaphore.ts'
import { Shared } from '../../src/sync/shared.ts'
import type { WaitOptions } from '../../src/kernel/waiters.ts'
import { codeOf, gate, listenersOf, testKernel, turn, type TestKernel } from './support.ts'

const many = 100_000

/** A primitive that lets no caller in. */
interface Blocked {
  wait(options: WaitOptions, index: number): Promise<unknown>
  waiting(): number
  /** Lets go what blocks, and says whether the primitive is as good as new. */
  end(): Promise<boolean>
}

const primitives: Record<string, (kernel: TestKernel) => Blocked> = {
  Event: (kernel) => {
    const event = new Event({ kernel })
    return {
      wait: (options) => event.wait(options),
      waiting: () => event.stats().waiting,
      end: async () => event.set(),
    }
  },
  Gate: (kernel) => {
    const closed = new Gate({ open: false, kernel })
    return {
      wait: (options) => closed.wait(options),
      waiting: () => closed.stats().waiting,
      end: async () => closed.open(),
    }
  },
  Mutex: (kernel) => {
    const mutex = new Mutex({ kernel })
    const holder = mutex.tryAcquire()
    return {
      wait: (options) => mutex.acquire(options),
      waiting: () => mutex.stats().waiting,
      end: async () => {
        holder?.release()
        return !mutex.isHeld
      },
    }
  },
  RwLock: (kernel) => {
    const lock = new RwLock({ kernel })
    const holder = lock.tryWrite()
    return {
      wait: (options, index) => (index % 3 === 0 ? lock.write(options) : lock.read(options)),
      waiting: () => lock.stats().waitingReaders + lock.stats().waitingWriters,
      end: async () => {
        holder?.release()
        return lock.tryWrite() !== undefined
      },
    }
  },
  KeyedMutex: (kernel) => {
    const locks = new KeyedMutex<number>({ kernel })
    const holders = Array.from({ length: 100 }, (_, key) => locks.tryAcquire(key))
    return {
      wait: (options, index) => locks.acquire(index % 100, options),
      waiting: () => holders.reduce((sum, _, key) => sum + (locks.statsOf(key)?.waiting ?? 0), 0),
      end: async () => {
        for (const holder of holders) holder?.release()
        return locks.stats().keys === 0
      },
    }
  },
  KeyedRwLock: (kernel) => {
    const locks = new KeyedRwLock<string>({ kernel })
    const holder = locks.tryRead('key')
    return {
      wait: (options) => locks.write('key', options),
      waiting: () => locks.statsOf('key')?.waitingWriters ?? 0,
      end: async () => {
        holder?.release()
        return locks.stats().keys === 0
      },
    }
  },
  Semaphore: (kernel) => {
    const semaphore = new Semaphore({ permits: 8, reserved: 2, kernel })
    const holder = semaphore.tryAcquire({ weight: 10, priority: 0 })
    return {
      wait: (options, index) =>
        semaphore.acquire({ ...options, weight: 1 + (index % 8), priority: index % 10 }),
      waiting: () => semaphore.stats().waiting,
      end: async () => {
        holder?.release()
        return semaphore.stats().available === 8 && semaphore.stats().availableReserved === 2
      },
    }
  },
  'Queue (put)': (kernel) => {
    const queue = new Queue<number>({ capacity: 1, kernel })
    queue.tryPut(-1)
    return {
      wait: (options, index) => queue.put(index, options),
      waiting: () => queue.stats().waitingPutters,
      end: async () => queue.remove(-1) && queue.size === 0,
    }
  },
  'Queue (take)': (kernel) => {
    const queue = new Queue<number>({ capacity: 1, kernel })
    return {
      wait: (options) => queue.take(options),
      waiting: () => queue.stats().waitingGetters,
      end: async () => queue.tryPut(1) && queue.size === 1,
    }
  },
  Shared: (kernel) => {
    const opened = gate<number>()
    const shared = new Shared<string, number>({
      kernel,
      open: () => opened.promise,
      close: () => {},
    })
    return {
      wait: (options) => shared.use('key', options),
      waiting: () => shared.stats().waiting,
      end: async () => {
        opened.resolve(1)
        await turn()
        return shared.stats().keys === 0
      },
    }
  },
}

/** How many waits ended with each code. */
function count(waits: readonly Promise<unknown>[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const wait of waits) {
    wait.then(
      () => counts.set('fulfilled', (counts.get('fulfilled') ?? 0) + 1),
      (error: unknown) => {
        const code = String(codeOf(error) ?? error)
        counts.set(code, (counts.get(code) ?? 0) + 1)
      },
    )
  }
  return counts
}

for (const [name, make] of Object.entries(primitives)) {
  test(`W2: ${name}: 100,000 waiters abort by one signal and leave nothing`, async () => {
    const kernel = testKernel()
    const blocked = make(kernel)
    const controller = new AbortController()
    const options = { signal: controller.signal, deadline: 60_000 }
    const counts = count(Array.from({ length: many }, (_, index) => blocked.wait(options, index)))
    assert.equal(blocked.waiting(), many)
    assert.equal(kernel.clock.pending, 1)
    assert.equal(listenersOf(controller.signal), 1)

    controller.abort()
    // This many leave in slices, each in a turn of the loop of its own.
    for (let turns = 0; turns < many && blocked.waiting() > 0; turns++) await turn()
    await turn()

    assert.deepEqual([...counts], [['HDL_CANCELLED', many]])
    assert.equal(blocked.waiting(), 0)
    assert.equal(kernel.clock.pending, 0)
    assert.equal(listenersOf(controller.signal), 0)
    assert.equal(await blocked.end(), true)
  })

  test(`W2: ${name}: 1,000 waiters are late and leave nothing`, async () => {
    const kernel = testKernel()
    const blocked = make(kernel)
    const { signal } = new AbortController()
    const counts = count(
      Array.from({ length: 1000 }, (_, index) =>
        blocked.wait({ signal, deadline: 1 + (index % 7) }, index),
      ),
    )
    await kernel.clock.advance(7)
    assert.deepEqual([...counts], [['HDL_TIMEOUT', 1000]])
    assert.equal(blocked.waiting(), 0)
    assert.equal(kernel.clock.pending, 0)
    assert.equal(listenersOf(signal), 0)
    assert.equal(await blocked.end(), true)
  })
}

test('100,000 waiters of one mutex are served in order', async () => {
  const mutex = new Mutex()
  let next = 0
  const visit = async (index: number): Promise<void> => {
    using _ = await mutex.acquire()
    assert.equal(index, next++)
  }
  await Promise.all(Array.from({ length: many }, (_, index) => visit(index)))
  assert.equal(next, many)
  assert.equal(mutex.isHeld, false)
})
