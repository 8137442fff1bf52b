import { raceTests } from '../support/races.ts'

raceTests('H307', [
  {
    name: 'a close that waits for somebody else',
    check: 'this.drained.promise',
    race: `export class Service {
  readonly drained = Promise.withResolvers<void>()
  async close() {
    await this.drained.promise
  }
}
`,
    fixed: `export class Service {
  readonly drained = Promise.withResolvers<void>()
  async close() {
    await Promise.race([this.drained.promise, timeout(5_000)])
  }
}
`,
  },
])
