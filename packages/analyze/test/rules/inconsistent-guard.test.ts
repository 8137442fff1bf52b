import { raceTests } from '../support/races.ts'

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
])
