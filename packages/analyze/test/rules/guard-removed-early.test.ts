import { raceTests } from '../support/races.ts'

raceTests('H301', [
  {
    name: 'a lock that is removed with its last release',
    act: 'this.locks.delete',
    race: `import { Mutex } from 'async-mutex'
export class Accounts {
  locks = new Map<string, Mutex>()
  async change(id: string) {
    let lock = this.locks.get(id)
    if (!lock) {
      lock = new Mutex()
      this.locks.set(id, lock)
    }
    const release = await lock.acquire()
    try {
      await work(id)
    } finally {
      release()
      this.locks.delete(id)
    }
  }
}
`,
    fixed: `import { Mutex } from 'async-mutex'
export class Accounts {
  locks = new Map<string, Mutex>()
  async change(id: string) {
    let lock = this.locks.get(id)
    if (!lock) {
      lock = new Mutex()
      this.locks.set(id, lock)
    }
    const release = await lock.acquire()
    try {
      await work(id)
    } finally {
      release()
      if (!lock.isLocked()) this.locks.delete(id)
    }
  }
}
`,
  },
])
