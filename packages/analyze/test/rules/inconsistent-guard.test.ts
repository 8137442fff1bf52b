import { raceTests } from '../support/races.ts'

const transaction = (commit: string): string => `import { Mutex } from 'async-mutex'
export class Transaction {
  #mutex = new Mutex()
  #conn: Connection
  constructor(conn: Connection) {
    this.#conn = conn
  }
  async query(sql: string) {
    return this.#mutex.runExclusive(async () => await this.#conn.query(sql))
  }
  async execute(sql: string) {
    const release = await this.#mutex.acquire()
    try {
      return await this.#conn.execute(sql)
    } finally {
      release()
    }
  }
  async commit() {
    ${commit}
  }
}
`

raceTests('H402', [
  {
    name: 'one method without the mutex',
    act: 'this.total = 0',
    race: `import { Mutex } from 'async-mutex'
export class Ledger {
  readonly mutex = new Mutex()
  total = 0
  async add(n: number) {
    await this.mutex.runExclusive(async () => {
      await audit()
      this.total += n
    })
  }
  async take(n: number) {
    await this.mutex.runExclusive(async () => {
      await audit()
      this.total -= n
    })
  }
  async reset() {
    await audit()
    this.total = 0
  }
}
`,
    fixed: `import { Mutex } from 'async-mutex'
export class Ledger {
  readonly mutex = new Mutex()
  total = 0
  async add(n: number) {
    await this.mutex.runExclusive(async () => {
      await audit()
      this.total += n
    })
  }
  async take(n: number) {
    await this.mutex.runExclusive(async () => {
      await audit()
      this.total -= n
    })
  }
  async reset() {
    await this.mutex.runExclusive(async () => {
      await audit()
      this.total = 0
    })
  }
}
`,
  },
  {
    name: 'an operation of a handle whose other operations are guarded',
    check: 'this.#conn.commit',
    act: 'this.#conn.commit',
    race: transaction('await this.#conn.commit()'),
    fixed: transaction('await this.#mutex.runExclusive(async () => await this.#conn.commit())'),
  },
])
